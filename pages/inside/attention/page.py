"""Lens: attention of any patch, any head, any layer, any model, on any picture."""

from __future__ import annotations

import streamlit as st

from pages.inside.attention import ablate, compare, depth, explore, methods
from pages.shell import controls, page, stand_in, subject
from vitviz.config import SwinConfig, ViTConfig

VIEWS = {
    "look": ("Look", explore.draw),
    "methods": ("Methods", methods.draw),
    "truth": ("Is it true?", methods.draw_truth),
    "ablate": ("Leave out", ablate.draw),
    "depth": ("Over depth", depth.draw),
    "compare": ("Side by side", compare.draw),
}


@st.fragment
def draw() -> None:
    """The chosen view; its controls rerun this part of the page alone."""
    now = subject.current()
    if not isinstance(now.model.config, ViTConfig | SwinConfig):
        stand_in.offer(
            "This model has no attention between patches of the picture: choose a ViT or a Swin.",
            "attention.instead",
            icon=":material/visibility_off:",
        )
        return
    page.untrained_note(now.model.trained_on)
    view = controls.segmented(
        "attention.view",
        "View",
        list(VIEWS),
        format_func=lambda name: VIEWS[name][0],
        label_visibility="collapsed",
    )
    VIEWS[view][1](now)


page.header("Attention explorer", "What does every patch look at?")
draw()
