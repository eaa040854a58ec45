"""Attention of a real Swin inside its windows: any layer and head, the pin kept."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.beyond.swin import subject
from pages.shell import controls, looking, nouns, page
from pages.shell import subject as explorer_subject
from pages.shell.looking import Gaze
from pages.stores.choice import ModelChoice
from pages.views.explorer import Options, explorer, picked, view_options
from vitviz.models.order import heads_by_layer
from vitviz.plots.attention import Head
from vitviz.plots.swin import block_title

KEY = "swin.attention"
GROUP = "swin"
FUSED = "mean"


@dataclass(frozen=True)
class Choice(controls.Chosen, page="swin"):
    """Which layer and head are shown, both from 1, and whether the rest is dimmed."""

    layer: int
    head: Head
    dim: bool


def choose(choice: ModelChoice, names: list[str]) -> Choice:
    """The three controls."""
    heads = heads_by_layer(choice.config)
    left, middle, right = st.columns([3, 3, 3], vertical_alignment="bottom")
    with left:
        layer = controls.select(
            Choice.key("layer"),
            "Layer",
            list(range(1, len(heads) + 1)),
            format_func=lambda number: block_title(names[number - 1]),
        )
    with middle:
        options: list[Head] = [*range(1, heads[layer - 1] + 1), FUSED]
        head = controls.select(Choice.key("head"), "Head", options, format_func=looking.head_name)
    with right:
        dim = controls.toggle(Choice.key("dim"), "Dim the rest", help="Instead of colour over the picture.")
    return Choice(layer, head, dim)


def draw(choice: ModelChoice, step: int) -> None:
    """The explorer of the attention page, on one layer of the Swin."""
    st.subheader("Attention of a real Swin, inside its windows", anchor=False)
    subject.remind(choice)
    now, pin = explorer_subject.of(choice, step, nouns.current().image), nouns.current().pin
    chosen = choose(choice, [name for name, _ in now.windows])
    view_options(GROUP, str(pin), Options(style="dim" if chosen.dim else "overlay"))
    gaze = Gaze(chosen.layer, chosen.head)
    explorer(*looking.view_of(now, gaze, now.ground(seen=False), GROUP), key=KEY, on_change=on_pick)
    page.caption(looking.describe(now, gaze, pin))
    nouns.link_to(
        "attention", "Everything else in the attention explorer", **{"attention.layer": chosen.layer}
    )


def on_pick() -> None:
    """What a click in the explorer changes: the pin, the layer or the head."""
    events = picked(KEY)
    if "pin" in events:
        nouns.set_pin(str(events["pin"]))
    Choice.change(**{name: int(events[name]) for name in ("layer", "head") if name in events})
