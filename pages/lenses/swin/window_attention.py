"""Attention of a real Swin inside its windows: any layer and head, the pin kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import swin_selection
from pages.selection import attention_maps, selection
from pages.selection import subject as explored
from pages.selection.attention_maps import Gaze
from pages.views.explorer import Options, explorer, picked, view_options
from vitviz.config import ModelConfig
from vitviz.models.layer_order import heads_by_layer
from vitviz.models.swin import WindowAttention
from vitviz.plots.attention import Head
from vitviz.plots.swin import block_title

KEY = "swin.attention"
GROUP = "swin"

MATHEMATICS = r"""
$$
A = \mathrm{softmax}\Bigl(\frac{QK^\top}{\sqrt d} + B + \text{mask}\Bigr)
$$

in every window of every head (equation 4 of the paper; the mask in shifted blocks). The picture shows one row of $A$:
how the query shares itself out over the tokens of its window. Every other token has weight 0.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Which layer and head are shown, both from 1, and whether the rest is dimmed."""

    layer: int
    head: Head
    dim: bool


def read(config: ModelConfig, names: list[str]) -> Choice:
    """Draws the three controls; names of the blocks in order of depth."""
    heads = heads_by_layer(config)
    left, middle, right = st.columns([3, 3, 3], vertical_alignment="bottom")
    with left:
        layer = widgets.select(
            Choice.key("layer"),
            "Layer",
            list(range(1, len(heads) + 1)),
            format_func=lambda number: block_title(names[number - 1]),
        )
    with middle:
        options: list[Head] = [*range(1, heads[layer - 1] + 1), "mean"]
        head = widgets.select(Choice.key("head"), "Head", options, format_func=attention_maps.head_name)
    with right:
        dim = widgets.toggle(Choice.key("dim"), "Dim the rest", help="Instead of colour over the picture.")
    return Choice(layer, head, dim)


def draw() -> None:
    """The explorer of the attention page, on one layer of the Swin."""
    seen = swin_selection.current()
    swin_selection.introduce(seen)
    now, pin = explored.of(seen.choice, seen.step, selection.current().image), selection.current().pin
    chosen = read(seen.config, [name for name, _ in now.windows])
    view_options(GROUP, str(pin), Options(style="dim" if chosen.dim else "overlay"))
    gaze = Gaze(chosen.layer, chosen.head)
    explorer(*attention_maps.view_of(now, gaze, now.ground(seen=False), GROUP), key=KEY, on_change=on_pick)
    page.caption(attention_maps.describe(now, gaze, pin))
    there: dict[str, Any] = {"attention.layer": chosen.layer}
    selection.link_to("attention", "Everything else in the attention explorer", **there)
    page.drawers("swin.attention", math=MATHEMATICS, code=(WindowAttention.forward,))


def on_pick() -> None:
    """What a click in the explorer changes: the pin, the layer or the head."""
    events = picked(KEY)
    if "pin" in events:
        selection.set_pin(events["pin"])
    Choice.change(**{name: events[name] for name in ("layer", "head") if name in events})
