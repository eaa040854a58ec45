"""What a browser says of a view, read field by field: whoever has a connection can say anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vitviz.pin import Pin

_MOST = 10**9


def events_of(key: str) -> dict[str, Any]:
    """What the view of this key says in this run, by name; in its callback, and in the run."""
    return fields(st.session_state.get(key))


def fields(value: object) -> dict[str, Any]:
    """The fields of a value with names; none of any other."""
    return dict(value) if isinstance(value, Mapping) else {}


def several(value: object) -> list[Any]:
    """The items of a list; none of anything else."""
    return value if isinstance(value, list) else []


def like(value: object, pattern: Mapping[str, Any]) -> dict[str, Any]:
    """`pattern` with the fields of a value that are of the same kind."""
    given = fields(value)
    return {name: given[name] if _alike(given.get(name), own) else own for name, own in pattern.items()}


def _alike(value: object, own: object) -> bool:
    """Whether both are words, both yes or no, or both numbers, of which none is out of all bounds."""
    if isinstance(own, int | float) and not isinstance(own, bool):
        return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]
    return type(value) is type(own)


def whole(value: object) -> int | None:
    """A whole number counted from 0; None for anything else."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST
    return int(value) if fits else None  # type: ignore[call-overload]


def pair(value: object) -> tuple[int, int] | None:
    """Two such numbers; None for anything else."""
    first, second = map(whole, value) if isinstance(value, list) and len(value) == 2 else (None, None)
    return None if first is None or second is None else (first, second)


def pin(value: object) -> Pin | None:
    """A pin as a link has it, or as its place [x, y] in [0, 1]; None for anything else."""
    if isinstance(value, list):
        value = ",".join(map(str, value[:3]))
    return Pin.parse(value) if isinstance(value, str) else None
