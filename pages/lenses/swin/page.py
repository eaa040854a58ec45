"""Swin: windows, shifts and masks that one can step through."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.swin import (
    bias,
    cost,
    gradient_reach,
    grid_controls,
    hierarchy,
    information_flow,
    stepper,
    window_attention,
)
from pages.selection import selection

VIEWS = {
    "steps": ("Step by step", stepper.draw),
    "travel": ("Information travels", information_flow.draw),
    "attention": ("Real attention", window_attention.draw),
    "bias": ("Position bias", bias.draw),
    "merge": ("Merging", hierarchy.draw),
    "cost": ("Cost", cost.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["swin"]
page.header(entry.title, entry.question)
widgets.hold(
    *(
        grid_controls.Choice,
        stepper.Begin,
        information_flow.Begin,
        gradient_reach.Choice,
        window_attention.Choice,
    ),
    bias.Choice,
    hierarchy.Choice,
    cost.Choice,
    cost.Clock,
)
sections.choose(Choice.key("view"), VIEWS)()
with st.container(horizontal=True):
    for name, recipe in (("digits", "digits_swin"), ("CIFAR-10", "cifar10_swin")):
        selection.link_to("live_lab", f"Train a Swin on {name}, live", **{"live_lab.recipe": recipe})
