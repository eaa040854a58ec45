"""Swin: windows, shifts and masks that one can step through."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.beyond.swin import bias, cost, grid, hierarchy, measured, stepper, travel, window_attention
from pages.shell import controls, nouns, page, registry, sections

VIEWS = {
    "steps": ("Step by step", stepper.draw),
    "travel": ("Information travels", travel.draw),
    "attention": ("Real attention", window_attention.draw),
    "bias": ("Position bias", bias.draw),
    "merge": ("Merging", hierarchy.draw),
    "cost": ("Cost", cost.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="swin"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["swin"]
page.header(entry.title, entry.question)
controls.hold(
    *(grid.Choice, stepper.Begin, travel.Begin, measured.Choice, window_attention.Choice),
    bias.Choice,
    hierarchy.Choice,
    cost.Choice,
    cost.Clock,
)
sections.choose(Choice.key("view"), VIEWS)()
with st.container(horizontal=True):
    for name, recipe in (("digits", "digits_swin"), ("CIFAR-10", "cifar10_swin")):
        nouns.link_to("live_lab", f"Train a Swin on {name}, live", **{"live_lab.recipe": recipe})
