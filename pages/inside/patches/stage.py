"""The picture cut into patches, and one of them on its way through E."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.inside.patches import views
from pages.inside.patches.cut import SEED, Cut
from pages.inside.patches.sizes import Choice
from pages.shell import nouns, page
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots import patches as plots
from vitviz.words import plain, plural

KEY = "patches.stage"


def draw(cut: Cut, column: int) -> None:
    """The stage, what its sizes are, and what stands in; the column of E counts from 0."""
    _say_what_stands_in(cut)
    scene = plots.Scene(cut.shown, cut.values, cut.found.prefix, cut.patch_px)
    payload = plots.stage(scene, cut.found, pin=nouns.current().pin.token(cut.layout), column=column)
    views.stage(payload, key=KEY, on_change=partial(_picked, cut.layout))
    page.caption(describe(cut))
    channels, side = cut.values.shape[:2]
    dim, values = cut.found.weight.shape
    count = len(cut.found.tokens)
    shapes = {"x": (1, channels, side, side), "x_p": (1, count, values), "E": (values, dim)}
    page.shapes(**shapes, **{"x_p·E": (1, count, dim), "z0": (1, cut.layout.num_tokens, dim)})


def describe(cut: Cut) -> str:
    """How many patches, of how many values, become how many tokens, in words and numbers."""
    channels, side = cut.values.shape[:2]
    dim, values = cut.found.weight.shape
    p, count = cut.patch_px, len(cut.found.tokens)
    grid = cut.layout.grid[0]
    text = (
        f"{side} / {p} = {grid}, so N = HW/P² = {side}²/{p}² = {plural(count, 'patch', 'patches')} of P²C ="
        f" {p}² · {channels} = {values:,} values. E, a learned matrix, maps each of them to a token of D = {dim:,}"
        f" values: {side * side * channels:,} pixel values become {count:,} × {dim:,} = {cut.found.tokens.size:,}"
        " numbers."
    )
    return f"{text} {sequence_in_words(cut)}"


def sequence_in_words(cut: Cut) -> str:
    """How long the sequence is, and what stands before the patches."""
    names, tokens = cut.layout.prefix, cut.layout.num_tokens
    if not names:
        return f"No token stands before them: the sequence has N = {plural(tokens, 'token', 'tokens')}."
    said = " and ".join(f"[{name.upper()}]" for name in names)
    learned = "one learned token" if len(names) == 1 else f"{len(names)} learned tokens"
    read = ""
    if cut.able.cls_readout:
        read = " [CLS] is the same for every picture; the model reads its answer from what becomes of it."
    return (
        f"Before the patches {'stands' if len(names) == 1 else 'stand'} {learned}, {said}: the sequence has"
        f" N + {len(names)} = {tokens:,} tokens.{read}"
    )


def _picked(layout: TokenLayout) -> None:
    """What was clicked on the stage becomes the pin, or the column of E."""
    said = st.session_state[KEY]
    if said.get("column") is not None:
        Choice.change(column=int(said["column"]) + 1)
    if said.get("pin") is not None:
        nouns.set_pin(Pin.of_token(layout, int(said["pin"])))


def _say_what_stands_in(cut: Cut) -> None:
    own, own_px = cut.choice, cut.own_patch_px
    if not cut.own_patch:
        depth = len(cut.vit.blocks)
        st.markdown(
            f":orange-badge[:material/casino: random E, seed {SEED}] {plain(own.title)} was made for"
            f" {own_px} px patches. At {cut.patch_px} px its E does not fit: a random model of"
            f" {plural(depth, 'layer', 'layers')} stands in."
        )
        return
    page.untrained_note(own.trained_on)
    if not cut.own_size:
        st.markdown(
            f":blue-badge[:material/open_in_full: resized] Its own E, on a picture of {cut.values.shape[-1]} px"
            f" instead of {own.config.image_size}; a learned table of positions is stretched to the new grid."
        )
