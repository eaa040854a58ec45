"""Cost: multiply-adds of global against windowed attention, and what both take on this machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import timings
from vitviz.analysis.window_attention import log_slope
from vitviz.lessons import formula_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import cost as plots
from vitviz.probe.window_cost import Measurement, measure
from vitviz.shifted_windows import global_attention_cost, window_attention_cost

PATCH_PX = 4
TOKENS = "tokens N (patches of 4 px)"
SIDES_PX = (112, 224, 448, 896, 1792)
WINDOWS = (4, 7, 8)
WIDTHS = (48, 96, 192, 384)

MATHEMATICS = r"""
In multiply-adds (equations 1 and 2 of the paper), for $N = h \times w$ tokens of width $C$:

$$
\Omega(\text{MSA}) = 4hwC^2 + 2(hw)^2C, \qquad \Omega(\text{W-MSA}) = 4hwC^2 + 2M^2hwC.
$$

Over the number of tokens, both axes logarithmic, the first tends to a slope of 2; the second has a slope of 1. Biases,
the softmax and the mask are not counted.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*.
"""
ASKS = (
    Question(
        "56 × 56 patches of width 96: how many times as much does global attention cost as windows of 7?",
        formula_measures.WindowCost(56, 7),
    ),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """The window's side in tokens, and the width of a token."""

    cost_window: int
    cost_dim: int


@dataclass(frozen=True)
class Clock(widgets.Chosen, page="swin"):
    """Which of the measurements is drawn: 'time' or 'memory'."""

    cost_shown: str


def read() -> Choice:
    """Draws the controls."""
    left, right, _ = st.columns([2, 3, 3], vertical_alignment="bottom")
    with left:
        window = widgets.segmented(Choice.key("cost_window"), "Window M, tokens", WINDOWS, 7)
    with right:
        dim = widgets.segmented(Choice.key("cost_dim"), "Width C", WIDTHS, 96)
    return Choice(window, dim)


def draw() -> None:
    """The formula's plot, and the measured one beside it; then the drawers."""
    _draw_both()
    page.drawers(
        "swin.cost",
        math=MATHEMATICS,
        code=(global_attention_cost, window_attention_cost, measure),
        asks=ASKS,
    )


@st.fragment
def _draw_both() -> None:
    chosen = read()
    rule, clock = st.columns(2, gap="medium")
    with rule:
        _draw_formula(chosen)
    with clock:
        _draw_clock(chosen)


def by_formula(chosen: Choice) -> plots.Costs:
    """Multiply-adds from the paper's equations 1 and 2."""
    sides, window, dim = [px // PATCH_PX for px in SIDES_PX], chosen.cost_window, chosen.cost_dim
    return plots.Costs(
        np.array(sides, float) ** 2,
        np.array([global_attention_cost(s, s, dim) for s in sides], float),
        np.array([window_attention_cost(s, s, dim, window) for s in sides], float),
        "multiply-adds",
    )


def _draw_formula(chosen: Choice) -> None:
    costs, window, dim = by_formula(chosen), chosen.cost_window, chosen.cost_dim
    st.markdown("**By the formula**: multiply-adds of one attention layer")
    page.figure(plots.cost_figure(costs, TOKENS, selection.mode()), "swin.cost")
    n = f"{56**2:,}".replace(",", "{,}")
    st.markdown(
        rf":small[224 px, global: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {n}^2 \cdot {dim}$]  "
        "\n"
        rf":small[224 px, windows: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {window}^2 \cdot {n} \cdot {dim}$]"
    )
    at = SIDES_PX.index(224)
    full, cut, tokens = costs.full, costs.windows, costs.tokens
    page.caption(
        f"That is {full[at] / 1e6:,.0f} against {cut[at] / 1e6:,.0f} million, {full[at] / cut[at]:.1f} times. From"
        f" {SIDES_PX[-2]} to {SIDES_PX[-1]:,} px ({tokens[-2]:,.0f} to {tokens[-1]:,.0f} tokens) the slope is"
        f" {log_slope(tokens[-2:], full[-2:]):.2f} for global attention, which tends to 2, and"
        f" {log_slope(tokens[-2:], cut[-2:]):.2f} for windows. Both cost the same where the picture is one window of"
        f" {window**2} tokens."
    )


def _draw_clock(chosen: Choice) -> None:
    """Seconds and bytes on this machine, measured when asked for."""
    st.markdown("**By the clock**: this machine, one picture")
    asked: set[Choice] = st.session_state.setdefault("swin._asked", set())
    if chosen not in asked:
        sizes = ", ".join(f"{side} × {side}" for side in timings.sides_of(chosen.cost_window))
        st.caption(f"Runs both on {sizes} tokens: a few seconds.")
        st.button(
            "Measure here", key="swin.measure", icon=":material/timer:", on_click=asked.add, args=(chosen,)
        )
        return
    with st.spinner("Measuring both, size by size …"):
        found = timings.attention(chosen.cost_window, chosen.cost_dim)
    shown = Clock(
        widgets.segmented(Clock.key("cost_shown"), "Shown", ["time", "memory"], label_visibility="collapsed")
    )
    costs = by_the_clock(found, shown)
    page.figure(
        plots.cost_figure(costs, TOKENS, selection.mode(), height_px=272), f"swin.measured_{shown.cost_shown}"
    )
    page.caption(describe(costs))


def by_the_clock(found: list[Measurement], shown: Clock) -> plots.Costs:
    """What was measured: seconds, or bytes."""
    tokens = np.array([one.side**2 for one in found], float)
    if shown.cost_shown == "time":
        full, cut = [one.global_s for one in found], [one.window_s for one in found]
        return plots.Costs(tokens, np.array(full), np.array(cut), "seconds", "s")
    full, cut = [one.global_bytes for one in found], [one.window_bytes for one in found]
    return plots.Costs(tokens, np.array(full, float), np.array(cut, float), "bytes held at once", "B")


def describe(costs: plots.Costs) -> str:
    """The slopes, and both at the largest size."""
    tokens, full, cut, unit = costs.tokens, costs.full, costs.windows, costs.unit
    return (
        f"Slopes over these sizes: {log_slope(tokens, full):.2f} global, {log_slope(tokens, cut):.2f} windows (by the"
        f" formula 2, where pictures are large, and 1). At {tokens[-1] ** 0.5 * PATCH_PX:.0f} px:"
        f" {amount(full[-1], unit)} against {amount(cut[-1], unit)}, {full[-1] / cut[-1]:.1f} times."
        + (" Median of 3 runs." if unit == "s" else " What PyTorch holds beyond the input.")
    )


def amount(value: float, unit: str) -> str:
    """'12.4 ms' or '9.7 MB'."""
    return f"{1000 * value:,.1f} ms" if unit == "s" else f"{value / 1e6:,.1f} MB"
