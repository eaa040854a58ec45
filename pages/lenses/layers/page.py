"""Compare the layers of a ViT and of a CNN, on one image and over many."""

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.layers import (
    channels,
    cka,
    colours,
    image_subset,
    layer_questions,
    layer_selection,
    model_pair,
    probe,
    sinks,
    token_similarity,
)

VIEWS = {
    "colours": ("Layer by layer", colours.draw),
    "channels": ("Channels", channels.draw),
    "token": ("One token", token_similarity.draw),
    "alike": ("Similarity (CKA)", cka.draw),
    "probe": ("Linear probes", probe.draw),
    "sinks": ("Attention sinks", sinks.draw),
}


@dataclass(frozen=True)
class ViewControls(widgets.ControlValues, page="layers"):
    """The selected section, a key of `VIEWS`."""

    view: str


@st.fragment
def draw() -> None:
    """Draw the selected section; its controls rerun only this fragment."""
    widgets.keep_pending(
        model_pair.OtherModelControls,
        layer_selection.LayerControls,
        image_subset.DatasetControls,
        layer_questions.SectionPredictions,
        colours.ColourControls,
        channels.ChannelControls,
        token_similarity.SimilarityControls,
        cka.CkaControls,
    )
    current = model_pair.load_current()
    page.untrained_note(current.subject.model.trained_on)
    widgets.choose_section(ViewControls.key("view"), VIEWS)(current)


page.header("layers")
draw()
