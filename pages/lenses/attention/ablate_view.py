"""Paint patches out and silence heads; what is left out is the view's state, and begins with what a link says."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.lenses.attention.ablation import LeftOut, Sizes
from pages.views.event_values import fields
from pages.views.register import register
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo

_ablate = register(__file__, "ablate_view")
_BEGUN = "attention._begun"  # of the session: its Begun


@dataclass(frozen=True)
class Begun:
    """What a view is told to begin with; what it says later counts if it says it of this beginning."""

    mark: int
    sizes: Sizes
    left_out: LeftOut


def ablate(picture: Photo, sizes: Sizes, *, start: int, key: str, link_key: str) -> LeftOut:
    """Draws the picture and the heads of every layer; returns what is left out, and writes it into the link.

    `start` is the patch where arrow keys begin.
    """
    begun = _begin(sizes, key, link_key)
    header = {
        "grid": list(sizes.grid),
        "heads": list(sizes.heads),
        "start": start,
        "mark": begun.mark,
        "left_out": {"patches": list(begun.left_out.patches), "heads": list(begun.left_out.heads)},
    }
    view = _ablate(pack(header | picture.header, photo=picture.array), key=key, states=("ablation",))
    said = fields(view.ablation)
    now = LeftOut.said(said, sizes) if said.get("mark") == begun.mark else begun.left_out
    widgets.keep(link_key, now.code(sizes))
    return now


def _begin(sizes: Sizes, key: str, link_key: str) -> Begun:
    """What the link newly says, else what was left out before; what the view has said since it began is its own."""
    before: Begun | None = st.session_state.get(_BEGUN)
    told = query_params.take(link_key)
    linked = None if told is None else LeftOut.parse(told, sizes)
    if (
        before
        and before.sizes == sizes
        and linked is None
        and (st.session_state.get(key) or {}).get("ablation")
    ):
        return before
    kept = LeftOut.parse(session_keys.kept().get(link_key, ""), sizes)
    left_out = linked or kept or LeftOut()
    if before and (before.sizes, before.left_out) == (sizes, left_out) and linked is None:
        return before
    begun = st.session_state[_BEGUN] = Begun(before.mark + 1 if before else 1, sizes, left_out)
    return begun
