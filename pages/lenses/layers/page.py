"""Lens: what the layers of a ViT and of a CNN say of one picture, and of many."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.layers import (
    channels,
    cka,
    colours,
    image_set,
    layer_selection,
    model_pair,
    prediction,
    probe,
    sinks,
    token_similarity,
)
from pages.selection import selection, substitute
from vitviz.models.abilities import abilities

VIEWS = {
    "colours": ("Layer by layer", colours.draw),
    "channels": ("Channels", channels.draw),
    "token": ("One token", token_similarity.draw),
    "alike": ("How alike", cka.draw),
    "probe": ("Probe", probe.draw),
    "sinks": ("Sinks", sinks.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="layers"):
    """Which of `VIEWS` is shown."""

    view: str


@st.fragment
def draw() -> None:
    """The chosen section; its controls rerun this part of the page alone."""
    able = abilities(selection.choice().config)
    if not able.layers:
        substitute.offer(able.layers.why_not, "layers.instead", fits=lambda c: bool(abilities(c).layers))
        return
    widgets.hold(model_pair.Other, layer_selection.Choice, image_set.Chosen, prediction.Guess)
    widgets.hold(*(part.Choice for part in (colours, channels, token_similarity, cka)))
    one = model_pair.own()
    page.untrained_note(one.now.model.trained_on)
    sections.choose(Choice.key("view"), VIEWS)(one)


entry = registry.BY_SLUG["layers"]
page.header(entry.title, entry.question)
draw()
