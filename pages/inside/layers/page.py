"""Lens: what the layers of a ViT and of a CNN say of one picture, and of many."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.inside.layers import (
    alike,
    channels,
    colours,
    measured_set,
    predict,
    probe,
    sides,
    similar,
    sinks,
    stage,
)
from pages.shell import controls, nouns, page, registry, sections, stand_in
from vitviz.models.abilities import abilities

VIEWS = {
    "colours": ("Layer by layer", colours.draw),
    "channels": ("Channels", channels.draw),
    "token": ("One token", similar.draw),
    "alike": ("How alike", alike.draw),
    "probe": ("Probe", probe.draw),
    "sinks": ("Sinks", sinks.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="layers"):
    """Which of `VIEWS` is shown."""

    view: str


@st.fragment
def draw() -> None:
    """The chosen section; its controls rerun this part of the page alone."""
    able = abilities(nouns.choice().config)
    if not able.layers:
        stand_in.offer(able.layers.why_not, "layers.instead", fits=lambda c: bool(abilities(c).layers))
        return
    controls.hold(sides.Other, stage.Choice, measured_set.Chosen, predict.Guess)
    controls.hold(*(part.Choice for part in (colours, channels, similar, alike)))
    one = sides.own()
    page.untrained_note(one.now.model.trained_on)
    sections.choose(Choice.key("view"), VIEWS)(one)


entry = registry.BY_SLUG["layers"]
page.header(entry.title, entry.question)
draw()
