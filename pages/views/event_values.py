"""Validate the values that a browser sends with a view's events; browser input is untrusted."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vitviz.pin import Pin

_MOST = 10**9


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
