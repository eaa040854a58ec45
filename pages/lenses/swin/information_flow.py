"""Information travels: what the masks allow after every block, and what gradients measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import gradient_reach, grid_controls, swin_selection, views
from pages.selection import selection
from vitviz.analysis import token_reach
from vitviz.analysis import window_attention as analysis
from vitviz.lessons import formula_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import swin as plots
from vitviz.plots.swin import Hops
from vitviz.probe.window_reach import patch_gradients
from vitviz.text import plural

KEY = "swin.reach"
BLOCKS = 8  # a corner of 16 x 16 patches reaches the whole picture after 7 with windows of 4
SHIFTED, UNSHIFTED = "Swin, shifted", "Swin, never shifted"
CNN_RADIUS = 2  # two 3 x 3 convolutions, as in a residual block

MATHEMATICS = r"""
**What can have been read.** With $L_l$ the Boolean matrix of the pairs (query, key) that block $l$ allows, after $n$
blocks it is

$$
L_n L_{n-1} \cdots L_1
$$

Its rows say what a token reads, its columns where a patch reaches. Merging is one more such matrix, four columns to a
row.

**What is measured.** For a token of a block's output $z$, and signs $\varepsilon_c = \pm 1$ drawn once, a patch's
number is

$$
\sum_{\text{its pixels and channels}} \Bigl| \frac{\partial}{\partial x} \sum_c \varepsilon_c\, z_c \Bigr|
$$

A masked score of $-100$ leaves $e^{-100} \approx 4 \cdot 10^{-44}$ of a weight, which counts as nothing.

Source of the windows: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*.
"""
ASKS = (
    Question(
        "16 × 16 patches, windows of 4, shift 2: after how many blocks has patch 1 reached them all?",
        formula_measures.BlocksToReach(16, 4, 2),
    ),
)


@dataclass(frozen=True)
class Begin(widgets.Chosen, page="swin"):
    """After how many blocks a link lets the pictures begin; a visitor goes on in the pictures themselves."""

    blocks: int


@lru_cache(maxsize=32)
def tables(chosen: grid_controls.Choice) -> dict[str, Hops]:
    """By title, the hops of the kinds of block on one grid: without a shift there is one kind of Swin."""
    side, tokens = (chosen.grid, chosen.grid), chosen.grid**2
    found = analysis.layout(side, chosen.window, chosen.shift)
    plain = token_reach.window_links(found.plain, None, tokens)
    shifted = token_reach.window_links(found.index, found.mask, tokens)
    every = np.ones((tokens, tokens), bool)
    near = token_reach.convolution_links(side, CNN_RADIUS)
    cut = f"windows of {chosen.window}"
    kinds = {SHIFTED: (f"{cut}, shift {chosen.shift}", plain, shifted)} if chosen.shift else {}
    kinds |= {
        UNSHIFTED: (cut, plain, plain),
        "ViT": ("global attention", every, every),
        "CNN": ("two 3 × 3 convolutions a block", near, near),
    }
    return {
        title: (note, token_reach.first_block(token_reach.alternate(first, second, BLOCKS)))
        for title, (note, first, second) in kinds.items()
    }


def draw() -> None:
    """Four pictures that fill up block by block, and the same question to a real model."""
    chosen = grid_controls.read()
    side, hops = (chosen.grid, chosen.grid), tables(chosen)
    pin = selection.current().pin.cell(side)
    blocks = widgets.settle_choice(Begin.key("blocks"), tuple(range(BLOCKS + 1)), 1)
    widgets.keep(Begin.key("blocks"), blocks)
    payload = plots.reach(swin_selection.picture(), side, hops, pin, begin=blocks)
    views.reach(payload, key=KEY, on_change=partial(swin_selection.keep_pin, KEY))
    page.caption(describe(hops, pin, chosen.shift))
    st.subheader("Measured: the gradient of one output token", anchor=False)
    gradient_reach.draw(swin_selection.current())
    page.drawers(
        "swin.travel",
        math=MATHEMATICS,
        code=(token_reach.window_links, token_reach.follow, token_reach.reads, patch_gradients),
        asks=ASKS,
    )


def describe(hops: dict[str, Hops], pin: int, shift: int) -> str:
    """The caption, for the pinned patch."""

    def full(title: str) -> str:
        from_pin = hops[title][1][:, pin]
        reached = from_pin[from_pin != token_reach.NEVER]
        if len(reached) < len(from_pin):
            return f"{len(reached):,} of {len(from_pin):,} patches after {BLOCKS} blocks"
        return f"the whole picture after {plural(int(reached.max()), 'block')}"

    text = f"From patch {pin + 1}, information reaches {full('ViT')} of a ViT and {full('CNN')} of the CNN."
    if not shift:
        return text + f" With a shift of 0 it stays in its window: {full(UNSHIFTED)}."
    return text + f" Windows that shift reach {full(SHIFTED)}; windows that never shift: {full(UNSHIFTED)}."
