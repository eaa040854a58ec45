"""Validate the values that a browser sends with a view's events; browser input is untrusted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.controls import session_keys
from vitviz.pin import Pin

T = TypeVar("T")
_MOST = 10**9


@dataclass(frozen=True)
class ViewState(Generic[T]):
    """Values that are changed in a view; only its events with the same mark count."""

    mark: int
    subject: Any
    values: T


def read_state(
    key: str,
    event: tuple[str, str],
    subject: Any,
    begin: Callable[[ViewState[T] | None], T],
    parse: Callable[[dict[str, Any], T], T],
    *,
    linked: bool,
) -> ViewState[T]:
    """Return the current values of a view and the mark that its next events must carry.

    Args:
        key: of the state among the values of controls.
        event: the view's key and the name of its event.
        subject: another one begins anew.
        begin: return the first values, from the state before.
        parse: return an event's values, invalid ones from the second argument.
        linked: True if the address holds values, which begin anew.
    """
    states = session_keys.get_control_values()
    state: ViewState[T] | None = states.get(key)
    if state is None or linked or state.subject != subject:
        state = ViewState(1 if state is None else state.mark + 1, subject, begin(state))
    fields = read_fields(read_events(event[0]).get(event[1]))
    if fields.get("mark") == state.mark:
        state = replace(state, values=parse(fields, state.values))
    states[key] = state
    return state


def read_events(key: str) -> dict[str, Any]:
    """Return the events of the view with this key in the current run, by name."""
    return read_fields(st.session_state.get(key))


def read_fields(value: object) -> dict[str, Any]:
    """Return a mapping as a dict; {} for any other value."""
    return dict(value) if isinstance(value, Mapping) else {}


def read_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def read_like(value: object, pattern: Mapping[str, Any]) -> dict[str, Any]:
    """Return `pattern`, updated with the value's fields of the same type."""
    fields = read_fields(value)
    return {
        name: fields[name] if _has_type_of(fields.get(name), default) else default
        for name, default in pattern.items()
    }


def _has_type_of(value: object, default: object) -> bool:
    if isinstance(default, int | float) and not isinstance(default, bool):
        return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]
    return type(value) is type(default)


def read_index(value: object) -> int | None:
    """Return a non-negative integer; None for any other value."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST
    return int(value) if fits else None  # type: ignore[call-overload]


def read_index_pair(value: object) -> tuple[int, int] | None:
    """Return a pair of non-negative integers; None for any other value."""
    first, second = map(read_index, value) if isinstance(value, list) and len(value) == 2 else (None, None)
    return None if first is None or second is None else (first, second)


def read_pin(value: object) -> Pin | None:
    """Return a pin, written as in a permalink or as [x, y] in [0, 1]; None for any other value."""
    if isinstance(value, list):
        value = ",".join(map(str, value[:3]))
    return Pin.parse(value) if isinstance(value, str) else None
