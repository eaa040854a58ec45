"""Swin: shifted windows and their masks step by step, and a trained Swin's attention, bias, hierarchy and cost."""

from collections.abc import Callable

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import (
    cost,
    hierarchy,
    information_flow,
    stepper,
    swin_selection,
    trained_attention,
)
from pages.selection import selection

VIEWS: dict[str, tuple[str, Callable[..., None]]] = {
    "steps": ("Step by step", stepper.draw),
    "travel": ("Information flow", information_flow.draw),
    "attention": ("Attention maps", trained_attention.draw),
    "bias": ("Position bias", trained_attention.draw_bias),
    "merge": ("Patch merging", hierarchy.draw),
    "cost": ("Cost", cost.draw),
}


@page.view
def draw() -> None:
    draw_section = widgets.choose_section("swin.view", VIEWS)
    has_grid = st.session_state["swin.view"] in ("steps", "travel")
    draw_section(*((swin_selection.draw_grid_controls(),) if has_grid else ()))
    with st.container(horizontal=True):
        for name, recipe in (("digits", "digits_swin"), ("CIFAR-10", "cifar10_swin")):
            selection.link_to("live_lab", f"Train a Swin on {name}", **{"live_lab.recipe": recipe})


page.header("swin")
draw()
