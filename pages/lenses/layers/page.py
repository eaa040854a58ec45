"""Compare the layers of a ViT and of a CNN, on one image and over many."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import channels, cka, colours, linear_probes, sinks, token_similarity
from pages.selection import selection, subject

VIEWS = {
    "colours": ("Layer by layer", colours.draw),
    "channels": ("Channels", channels.draw),
    "token": ("One token", token_similarity.draw),
    "alike": ("Similarity (CKA)", cka.draw),
    "probe": ("Linear probes", linear_probes.draw),
    "sinks": ("Token norms", sinks.draw),
}


@st.fragment(key=selection.VIEW)
def draw() -> None:
    """Draw the selected section; its controls rerun only this fragment."""
    current = subject.load_current()
    page.untrained_note(current.model.trained_on)
    widgets.choose_section("layers.view", VIEWS)(current)


page.header("layers")
draw()
