"""Partition, roll, region ids, mask, attention, reverse, unroll: one pair of blocks, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import grid_controls, swin_selection, views
from pages.selection import selection
from vitviz import shifted_windows
from vitviz.analysis import window_attention as analysis
from vitviz.lessons import formula_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import swin as plots
from vitviz.tables import columns_of
from vitviz.text import percent

KEY = "swin.stepper"
STAGES = (
    "tokens",
    "partition",
    "roll",
    "ids",
    "again",
    "mask",
    "attention",
    "reverse",
    "unroll",
)  # of its view

MATHEMATICS = r"""
$$
\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\Bigl(\frac{QK^\top}{\sqrt d} + B + \text{mask}\Bigr)V
$$

in every window of $M \times M$ tokens. $B$ is the relative position bias, which this picture leaves out; the mask is
$-100$ where query and key lay in different parts of the picture before the roll, else $0$. Blocks alternate (equation 3
of the paper):

$$
\hat z^{l} = \text{W-MSA}(\mathrm{LN}\,z^{l-1}) + z^{l-1},\qquad
\hat z^{l+1} = \text{SW-MSA}(\mathrm{LN}\,z^{l}) + z^{l},
$$

each followed by an MLP with its own residual. The paper's shift is $s = \lfloor M/2 \rfloor$ on both axes; region ids
come from the slices $(0, -M), (-M, -s), (-s, \text{end})$.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*.
"""
ASKS = (
    Question(
        "8 × 8 patches, windows of 4, shift 2: how many patches may patch 1 read in the shifted block?",
        formula_measures.ReadableInCorner(8, 4, 2),
    ),
)


@dataclass(frozen=True)
class Begin(widgets.Chosen, page="swin"):
    """The stage at which a link lets the picture begin; a visitor walks on in the picture itself."""

    stage: str


def draw() -> None:
    """Controls, the picture step by step, its caption, the drawers."""
    chosen = grid_controls.read()
    found = analysis.layout((chosen.grid, chosen.grid), chosen.window, chosen.shift)
    shown = swin_selection.picture()
    attended = analysis.attend(shown, found)
    stage = widgets.settle_choice(Begin.key("stage"), STAGES)
    widgets.keep(Begin.key("stage"), stage)
    pin = selection.current().pin.cell(found.grid)
    payload = plots.stepper(shown, found, attended, pin, begin=STAGES.index(stage))
    views.stepper(payload, key=KEY, on_change=partial(swin_selection.keep_pin, KEY))
    page.caption(describe(found, attended.leak))
    page.drawers(
        "swin.steps",
        math=MATHEMATICS,
        code=(shifted_windows.region_ids, shifted_windows.attention_mask, analysis.colour_attention),
        numbers=partial(draw_numbers, found),
        asks=ASKS,
    )


def describe(found: analysis.Layout, leak: shifted_windows.FloatArray) -> str:
    """The caption, from the numbers of the picture."""
    count, cells = found.index.shape
    start = f"{found.grid[0]} × {found.grid[1]} patches make {count:,} windows of {cells:,}"
    if not found.shift:
        return (
            f"{start}. Without a shift the two blocks see the same windows, and no window hears of another until four"
            " tokens are merged into one: a window of the next stage covers four of this one."
        )
    touched = leak[leak > 0]
    return (
        f"{start}. Rolled by {found.shift}, {found.masked_windows:,} of them hold patches from more than one side of"
        f" the picture, so {found.masked_pairs:,} of {found.mask.size:,} query–key pairs are masked"
        f" ({percent(found.masked_pairs / found.mask.size)}). Without the mask, {len(touched):,} patches would read"
        f" across the edge, with {percent(touched.mean(), 0)} of their attention on average."
    )


def draw_numbers(found: analysis.Layout) -> None:
    """The windows as tables, to take away; patches, windows and slots count from 1."""
    count, cells = found.index.shape
    st.markdown(
        f"The rolled grid's region ids, and {count:,} windows of {cells:,} slots with the patch in each"
        " (patches count from 1)."
    )
    ids = columns_of(found.ids, (f"column_{i + 1}" for i in range(found.grid[1])))
    slots = columns_of(found.index + 1, (f"slot_{i + 1}" for i in range(cells)))
    pairs = columns_of(np.argwhere(found.mask < 0) + 1, ("window", "query", "key"))
    left, middle, right = st.columns(3)
    with left:
        page.csv("Region ids (CSV)", ids, "region_ids.csv", "swin.csv_ids", stretch=True)
    with middle:
        page.csv("Patch of every slot (CSV)", slots, "windows.csv", "swin.csv_windows", stretch=True)
    with right:
        page.csv("Masks (CSV)", pairs, "masked_pairs.csv", "swin.csv_masks", stretch=True)
    st.dataframe(found.ids, height=240)
