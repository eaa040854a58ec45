"""Which parts of the picture the visitor has cut out and where they lie; it begins with what a link says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.views.event_values import events_of, fields
from vitviz.analysis.assembly import Parts, decode, encode

_BEGUN = "on_picture._apart"  # of the session: its Begun; among what is kept the same with what is taken now


@dataclass(frozen=True)
class Taken(widgets.Chosen, page="on_picture"):
    """The parts as `vitviz.analysis.assembly.encode` writes them, and whether what the models read is drawn."""

    apart: str
    apart_seen: bool


@dataclass(frozen=True)
class Begun:
    """What a view is told to begin with; what it says later counts if it says it of this beginning."""

    mark: int
    of: tuple[Any, ...]  # picture, crop, size
    taken: Taken


def now(
    of: tuple[Any, ...], size: int, view: str, otherwise: Callable[[], Parts]
) -> tuple[Parts, Taken, int]:
    """The parts as they lie now, the same as a link holds them, and the mark of the view's beginning.

    Args:
        of: what the parts are of; with another one they begin anew.
        size: the side of what the models read, in px.
        view: key of the view, whose state is 'moved'.
        otherwise: the parts where neither link nor visitor says any.
    """
    told = {field: query_params.take(Taken.key(field)) for field in ("apart", "apart_seen")}
    begun: Begun | None = st.session_state.get(_BEGUN)
    kept: Begun | None = session_keys.kept().get(_BEGUN)
    if begun is None or begun.of != of or any(said is not None for said in told.values()):
        before = kept.taken if kept is not None and kept.of == of else Taken(encode(otherwise()), False)
        begun = Begun(1 if begun is None else begun.mark + 1, of, parsed(told, before, size))
        st.session_state[_BEGUN] = kept = begun
    taken = begun.taken if kept is None else kept.taken
    moved = fields(events_of(view).get("moved"))
    if moved.get("mark") == begun.mark:
        taken = parsed(moved, taken, size)
    st.session_state.setdefault(session_keys.KEPT, {})[_BEGUN] = Begun(begun.mark, of, taken)
    query_params.put(Taken.key("apart"), taken.apart)
    query_params.put(Taken.key("apart_seen"), widgets.encode(taken.apart_seen))
    parts = decode(taken.apart, size)
    assert parts is not None  # `parsed` lets nothing else in
    return parts, taken, begun.mark


def parsed(said: dict[str, Any], otherwise: Taken, size: int) -> Taken:
    """What a browser or a link says, each field checked; what is missing or impossible is `otherwise`'s."""
    apart, seen = said.get("apart"), said.get("apart_seen")
    if isinstance(seen, str):
        seen = {"1": True, "0": False}.get(seen)
    return Taken(
        apart if isinstance(apart, str) and decode(apart, size) is not None else otherwise.apart,
        seen if isinstance(seen, bool) else otherwise.apart_seen,
    )
