"""Validate the values that a browser sends with a view's events; browser input is untrusted."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vitviz.pin import Pin

_MOST = 10**9


def read_events(key: str) -> dict[str, Any]:
    """Return the events of the view with this key in the current run, by name."""
    return read_fields(st.session_state.get(key))


def read_fields(event: object) -> dict[str, Any]:
    """Return a mapping as a dict; {} for any other value."""
    return dict(event) if isinstance(event, Mapping) else {}


def read_list(field: object) -> list[Any]:
    return field if isinstance(field, list) else []


def read_like(event: object, pattern: Mapping[str, Any]) -> dict[str, Any]:
    """Return `pattern`, updated with the value's fields of the same type."""
    fields = read_fields(event)
    return {
        name: fields[name] if _has_type_of(fields.get(name), default) else default
        for name, default in pattern.items()
    }


def _has_type_of(field: object, default: object) -> bool:
    if isinstance(default, int | float) and not isinstance(default, bool):
        return type(field) in (int, float) and abs(field) < _MOST  # type: ignore[arg-type]
    return type(field) is type(default)


def read_index(field: object) -> int | None:
    """Return a non-negative integer; None for any other value."""
    fits = isinstance(field, int | float) and not isinstance(field, bool) and 0 <= field < _MOST
    return int(field) if fits else None  # type: ignore[call-overload]


def read_index_pair(field: object) -> tuple[int, int] | None:
    """Return a pair of non-negative integers; None for any other value."""
    first, second = map(read_index, field) if isinstance(field, list) and len(field) == 2 else (None, None)
    return None if first is None or second is None else (first, second)


def read_pin(field: object) -> Pin | None:
    """Return a pin, written as in a permalink or as [x, y] in [0, 1]; None for any other value."""
    if isinstance(field, list):
        field = ",".join(map(str, field[:3]))
    return Pin.parse(field) if isinstance(field, str) else None
