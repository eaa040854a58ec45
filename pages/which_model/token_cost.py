"""Cost over the number of tokens: what grows with N and what with its square, by formula and by the clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import timings
from vitviz.analysis.window_attention import log_slope
from vitviz.models import published_results
from vitviz.plots import cost as plots
from vitviz.plots.theme import HEADS
from vitviz.probe.window_cost import Measurement, measure
from vitviz.text import percent

SIDES = (4, 7, 14, 28, 56, 112, 224)  # tokens along a side
PATCHES = (8, 14, 16, 32)
PICTURES = (224, 448, 896, 1792)  # px; every patch size tiles each
WINDOW = 7
CLOCK_DIM = 192
TIMES = (2, 4, 8, 16)  # that the products of attention are guessed to cost once the side has doubled
WIDTHS = {one.name.partition("/")[0]: one.width for one in published_results.SIZES}


@dataclass(frozen=True)
class Guess(widgets.Chosen, page="which_model"):
    """How many times as much attention is guessed to cost: of `TIMES`."""

    times: str


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="which_model"):
    """The size whose width counts, the patch's side and the picture's, in px."""

    size: str
    patch_px: int
    image_px: int

    @property
    def width(self) -> int:
        """D."""
        return WIDTHS[self.size]

    @property
    def count(self) -> int:
        """N."""
        return (self.image_px // self.patch_px) ** 2


Counts = TypeVar("Counts", float, NDArray[np.float64])


def linear_adds(tokens: Counts, dim: int) -> Counts:
    """12 N D^2: the multiply-adds of one layer's linear maps with an MLP of 4 D (q, k, v, projection, MLP)."""
    return 12 * tokens * dim**2


def attention_adds(tokens: Counts, dim: int) -> Counts:
    """2 N^2 D: those of Q K^T and of A V in one layer."""
    return 2 * tokens**2 * dim


@st.fragment
def draw() -> None:
    """The formula's lines with the chosen N marked; beside them this machine's seconds; the mathematics."""
    with page.row():
        size = widgets.segmented(Choice.key("size"), "Size", tuple(WIDTHS), "ViT-B")
        patch = widgets.segmented(Choice.key("patch_px"), "Patch P, px", PATCHES, 16)
        image = widgets.segmented(Choice.key("image_px"), "Picture, px", PICTURES, 224)
    chosen = Choice(size, patch, image)
    answered = _guessed(chosen)
    rule, clock = st.columns(2, gap="medium")
    with rule:
        _draw_formula(chosen, answered)
    with clock:
        if answered:
            _draw_clock()
        else:
            st.caption("Then this machine can be asked how long attention takes.")
    page.drawers("which_model.length", math=MATHEMATICS, code=(linear_adds, attention_adds, measure))


def _guessed(chosen: Choice) -> bool:
    """Asks what a side twice as long costs attention; whether its lines may be shown."""
    twice = replace(chosen, image_px=2 * chosen.image_px)
    return prediction_gate.first(
        Guess.key("times"),
        "length",
        f"A side twice as long makes {twice.count:,} tokens of {chosen.count:,}. How many times as many multiply-adds"
        " do the products with attention take?",
        {str(times): f"{times} times" for times in TIMES},
        lambda guess: judged(chosen, twice, guess),
    )


def judged(now: Choice, then: Choice, guess: str) -> str:
    """Whether a guess of `TIMES` was right, by the formula, and what the linear maps take."""
    products = attention_adds(then.count, then.width) / attention_adds(now.count, now.width)
    linear = linear_adds(then.count, then.width) / linear_adds(now.count, now.width)
    verdict = "right" if float(guess) == products else "not so"
    return f"You said {guess} times: {verdict}, {products:g} times; the linear maps take {linear:g} times as many."


def _labels() -> list[str]:
    """Every second size says its number and its side."""
    return [f"{side**2:,}<br>{side} × {side}" if not i % 2 else "" for i, side in enumerate(SIDES)]


def _draw_formula(chosen: Choice, answered: bool) -> None:
    st.markdown(f"**By the formula**: multiply-adds of one layer, D = {chosen.width:,}")
    tokens = np.array(SIDES, float) ** 2
    linear, products = linear_adds(tokens, chosen.width), attention_adds(tokens, chosen.width)
    windows = 2 * WINDOW**2 * tokens * chosen.width
    lines = [plots.Line("linear maps", linear, HEADS[4], "right")]
    if answered:
        lines += [
            plots.Line("attention", products, HEADS[5], "right"),
            plots.Line(f"in windows of {WINDOW}", windows, HEADS[2], "right"),
        ]
    at = (float(chosen.count), f"N = {chosen.count:,}")
    titles = ("tokens N, and the side", "multiply-adds", "")
    page.figure(
        plots.lines_figure(
            tokens=tokens,
            lines=lines,
            labels=_labels(),
            titles=titles,
            mode=selection.mode(),
            height_px=360,
            at=at,
        ),
        "which_model.length",
    )
    page.caption(
        describe(chosen) if answered else "This is the linear maps' line; a guess shows attention's."
    )


def describe(chosen: Choice) -> str:
    """The slopes of the lines, and the shares at the chosen N."""
    tokens = np.array(SIDES, float) ** 2
    steep = log_slope(tokens, attention_adds(tokens, chosen.width))
    even_slope = log_slope(tokens, linear_adds(tokens, chosen.width))
    count = float(chosen.count)
    linear, products = linear_adds(count, chosen.width), attention_adds(count, chosen.width)
    even = 6 * chosen.width
    side = even**0.5 * chosen.patch_px
    return (
        f"Slopes: {steep:.2f} for attention over all tokens, {even_slope:.2f} for the linear maps. Patches of"
        f" {chosen.patch_px} px make N = {chosen.count:,} of {chosen.image_px:,} px: attention is"
        f" {percent(products / (products + linear))} of the layer's {(products + linear) / 1e6:,.0f} million. Both cost"
        f" the same at N = 6 D = {even:,}, a picture of {side:,.0f} px."
    )


def _draw_clock() -> None:
    st.markdown(f"**By the clock**: attention alone on this machine, one picture, D = {CLOCK_DIM}")
    asked: set[str] = st.session_state.setdefault("which_model._asked", set())
    if "attention" not in asked:
        sizes = ", ".join(f"{side} × {side}" for side in timings.sides_of(WINDOW))
        st.caption(f"Runs it over all tokens and in windows of {WINDOW}, on {sizes} tokens: a few seconds.")
        st.button(
            "Measure here",
            key="which_model.clock",
            icon=":material/timer:",
            on_click=asked.add,
            args=("attention",),
        )
        return
    with st.spinner("Measuring both, size by size …"):
        found = timings.attention(WINDOW, CLOCK_DIM)
    tokens = np.array([one.side**2 for one in found], float)
    full, cut = np.array([one.global_s for one in found]), np.array([one.window_s for one in found])
    lines = (
        plots.Line("attention", full, HEADS[5], "right"),
        plots.Line(f"in windows of {WINDOW}", cut, HEADS[2], "right"),
    )
    labels = [f"{one.side**2:,}<br>{one.side} × {one.side}" for one in found]
    titles = ("tokens N, and the side", "seconds", "s")
    page.figure(
        plots.lines_figure(tokens, lines, labels, titles, selection.mode(), 360), "which_model.by_clock"
    )
    page.caption(describe_clock(found))


def describe_clock(found: list[Measurement]) -> str:
    """The measured slopes, which hold the linear maps too."""
    tokens = np.array([one.side**2 for one in found], float)
    full, cut = np.array([one.global_s for one in found]), np.array([one.window_s for one in found])
    last = found[-1]
    return (
        f"Slopes between the two largest: {log_slope(tokens[-2:], full[-2:]):.2f} over all,"
        f" {log_slope(tokens[-2:], cut[-2:]):.2f} in windows. Each has four linear maps of slope 1 in it, so the first"
        f" tends to 2 and the second to 1. At {last.side} × {last.side} tokens: {1000 * last.global_s:,.1f} against"
        f" {1000 * last.window_s:,.1f} ms, medians of 3 runs."
    )


MATHEMATICS = r"""
One layer over $N$ tokens of width $D$, in multiply-adds (ViT paper, appendix A; norms, softmax and biases left out):
$4ND^2$ for $q$, $k$, $v$ and the projection, $8ND^2$ for an MLP of $4D$, and $N^2D$ each for $QK^\top$ and $AV$:

$$
\underbrace{12\,N D^2}_{\text{slope } 1} + \underbrace{2\,N^2 D}_{\text{slope } 2},
\qquad N = \Bigl(\frac{S}{P}\Bigr)^2 .
$$

Halving the patch, or doubling the picture's side $S$, makes four times as many tokens. In windows of $M \times M$
tokens attention costs $2M^2ND$ (Swin paper, eq. 2): slope 1.
"""
