"""Lens: attention of any patch, any head, any layer, any model, on any picture."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import segment_groups, widgets
from pages.frame import file_errors, page
from pages.lenses.attention import ablate, compare, depth, explore, faithfulness, matrix, methods
from pages.selection import selection, subject, substitute
from vitviz.models.abilities import abilities
from vitviz.pin import Pin

VIEWS = {
    "look": ("Look", explore.draw),
    "matrix": ("Matrix", matrix.draw),
    "compare": ("Side by side", compare.draw),
    "depth": ("Over depth", depth.draw),
    "methods": ("Methods", methods.draw),
    "truth": ("Is it true?", faithfulness.draw),
    "ablate": ("Leave out", ablate.draw),
}
GROUPS = {
    "Where it looks": ("look", "matrix", "compare", "depth"),
    "What explains the decision": ("methods", "truth", "ablate"),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="attention"):
    """Which view is shown."""

    view: str


@st.fragment(key=explore.VIEW)
@file_errors.said()
def draw() -> None:
    """The chosen view; its controls rerun this part of the page alone."""
    able = abilities(selection.choice().config)
    if not able.attention:
        substitute.offer(able.attention.why_not, "attention.instead", icon=":material/visibility_off:")
        return
    if able.cls_readout:
        selection.begin_at(Pin(None, "cls"))
    now = subject.current()
    page.untrained_note(now.model.trained_on)
    view = segment_groups.segmented(Choice.key("view"), GROUPS, format_func=lambda name: VIEWS[name][0])
    VIEWS[view][1](now)


page.header("Attention explorer", "What does every patch look at?")
draw()
