"""Attention of a real Swin inside its windows: any layer and head, the pin kept."""

from __future__ import annotations

import streamlit as st

from pages.beyond.swin import subject
from pages.inside.attention import explore
from pages.shell import controls, nouns, page
from pages.shell import subject as explorer_subject
from pages.stores.choice import ModelChoice
from pages.views.explorer import explorer, picked, view_options
from vitviz.plots.swin import block_title

KEY = "swin.attention"
FUSED = "mean"


def draw(choice: ModelChoice, step: int) -> None:
    """The explorer of the attention page, on one layer of the Swin."""
    st.subheader("Attention of a real Swin, inside its windows", anchor=False)
    subject.remind(choice)
    now = explorer_subject.of(choice, step, nouns.current().image)
    heads = explore.layers_of(now)
    names = [name for name, _ in now.windows]
    left, middle, right = st.columns([3, 3, 3], vertical_alignment="bottom")
    with left:
        layer = controls.select(
            "swin.layer",
            "Layer",
            list(range(1, len(heads) + 1)),
            format_func=lambda number: block_title(names[number - 1]),
        )
    with middle:
        head = controls.select(
            "swin.head", "Head", [*range(1, heads[layer - 1] + 1), FUSED], format_func=explore.head_name
        )
    with right:
        dim = controls.toggle("swin.dim", "Dim the rest", help="Instead of colour over a greyed picture.")
    view_options(
        group="swin",
        pin=str(nouns.current().pin),
        direction="row",
        scale="shared",
        style="dim" if dim else "overlay",
        share=0.6,
        opacity=0.9,
        smooth=False,
        grid=True,
    )
    explorer(*explore.view_of(now, layer, head, "swin"), key=KEY, on_change=on_pick)
    page.caption(explore.describe(now, layer, head, "row"))
    nouns.link_to("attention", "Everything else in the attention explorer", **{"attention.layer": layer})


def on_pick() -> None:
    """What a click in the explorer changes: the pin, the layer or the head."""
    events = picked(KEY)
    if "pin" in events:
        nouns.set_pin(str(events["pin"]))
    for name in ("layer", "head"):
        if name in events:
            controls.set_value(f"swin.{name}", int(events[name]))
