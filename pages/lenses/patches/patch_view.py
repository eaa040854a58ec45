"""The picture cut into patches, and one of them on its way through E."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import widgets
from pages.frame import page
from pages.lenses.patches import views
from pages.lenses.patches.embedded_image import SEED, Cut
from pages.selection import selection
from pages.views.event_values import events_of, whole
from vitviz.analysis.patches import patchify
from vitviz.lessons import formula_measures
from vitviz.lessons.lesson import Question
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots import patches as plots
from vitviz.tables import Columns, columns_of
from vitviz.text import plain, plural

KEY = "patches.stage"


MATHEMATICS = r"""
$$
\mathbf{z}_0 = [\mathbf{x}_\text{class};\ \mathbf{x}^1_p\mathbf{E};\ \dots;\ \mathbf{x}^N_p\mathbf{E}]
+ \mathbf{E}_{pos}
$$

with $\mathbf{E} \in \mathbb{R}^{(P^2 C)\times D}$, $\mathbf{E}_{pos} \in \mathbb{R}^{(N+1)\times D}$ and $N = HW/P^2$:
$N$ patches, and $N + 1$ tokens with $\mathbf{x}_\text{class}$, which is [CLS]. One value of a token is one dot product:

$$
(\mathbf{x}_p\mathbf{E} + \mathbf{b})_d = \sum_{k=1}^{P^2C} x_k\, E_{k,d} + b_d
$$

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, equation 1 and section 3.1.
"""
ASKS = (
    Question("224 × 224 px in patches of 16 × 16: how many patches?", formula_measures.PatchCount(224, 16)),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="patches"):
    """Which column of E is looked at, from 1."""

    column: int


def read(room: DeltaGenerator, dim: int) -> Choice:
    """Draws the control; E has `dim` columns."""
    with room:
        return Choice(
            widgets.number(
                Choice.key("column"),
                "Column of E",
                1,
                dim,
                1,
                help="E is the learned matrix that turns the pixels of a patch into a token. Each of its columns gives"
                " one of the token's D values.",
            )
        )


def draw(cut: Cut, room: DeltaGenerator) -> None:
    """The stage and what its sizes are; the column's control goes into the room."""
    column = read(room, cut.config.embed_dim).column - 1
    scene = plots.Scene(cut.shown, cut.values, cut.found.prefix, cut.patch_px)
    payload = plots.stage(scene, cut.found, pin=selection.current().pin.token(cut.layout), column=column)
    views.stage(payload, key=KEY, on_change=partial(_picked, cut.layout))
    page.caption(describe(cut))
    channels, side = cut.values.shape[:2]
    dim, values = cut.found.weight.shape
    count = len(cut.found.tokens)
    shapes = {"x": (1, channels, side, side), "x_p": (1, count, values), "E": (values, dim)}
    page.shapes(**shapes, **{"x_p·E": (1, count, dim), "z0": (1, cut.layout.num_tokens, dim)})
    page.drawers(
        "patches",
        math=MATHEMATICS,
        code=(type(cut.model.get_submodule("patch_embed")).forward, patchify),
        numbers=partial(_draw_numbers, cut),
        asks=ASKS,
    )


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
    events = events_of(KEY)
    column, token = whole(events.get("column")), whole(events.get("pin"))
    if column is not None:
        Choice.change(column=column + 1)
    if token is not None and token < layout.num_tokens:
        selection.set_pin(Pin.of_token(layout, token))


def say_what_stands_in(cut: Cut) -> None:
    """Whose E it is, where it is not the model's own at its own size."""
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


def _draw_numbers(cut: Cut) -> None:
    """Tokens, flattened patches and the cut picture, to take away."""
    values = cut.found.weight.shape[1]
    tokens, flat = cut.found.tokens, patchify(cut.values, cut.patch_px)
    side = cut.values.shape[-1]
    st.markdown(
        f"Tokens x_p E are {len(tokens):,} × {tokens.shape[1]:,}; patches are {len(flat):,} × {values:,}, channel by"
        f" channel, row by row; the picture is {side} × {side} px."
    )
    left, middle, right = st.columns(3)
    with left:
        page.csv("Tokens (CSV)", _rows(tokens, "d"), "tokens.csv", "patches.csv_tokens", stretch=True)
    with middle:
        page.csv(
            "Flattened patches (CSV)", _rows(flat, "k"), "patches.csv", "patches.csv_patches", stretch=True
        )
    with right:
        apart = partial(_apart, cut.shown, cut.patch_px)
        page.download("Patches apart (PNG)", apart, "patches.png", "patches.png", stretch=True)


def _rows(matrix: plots.FloatArray, letter: str) -> Columns:
    """One line a patch, which counts from 1; columns d1, d2, …"""
    names = [f"{letter}{i + 1}" for i in range(matrix.shape[1])]
    return {"patch": range(1, len(matrix) + 1)} | columns_of(matrix, names)


def _apart(shown: plots.PictureArray, patch_px: int) -> bytes:
    return plots.png(plots.apart(shown, patch_px))
