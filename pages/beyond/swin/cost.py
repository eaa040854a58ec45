"""Cost: multiply-adds of global against windowed attention, and what both take on this machine."""

from __future__ import annotations

from threading import Lock

import numpy as np
import streamlit as st

from pages.shell import controls, nouns, page
from vitviz.plots import swin as plots
from vitviz.probe.window_cost import Measurement, measure
from vitviz.windows import global_attention_cost, window_attention_cost

PATCH_PX = 4
TOKENS = "tokens N (patches of 4 px)"
SIDES_PX = (112, 224, 448, 896, 1792)
WINDOWS = (4, 7, 8)
WIDTHS = (48, 96, 192, 384)
MEASURED_WINDOWS = (2, 4, 6, 8)  # windows per side; 56 x 56 tokens at M = 7
MOST_TOKENS = 64
_ONE_AT_A_TIME = Lock()  # one measurement at a time, or they measure each other


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Slope of the straight line through log y over log x, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def sides_of(window: int) -> tuple[int, ...]:
    """Tokens per side at which both forms are measured."""
    return tuple(count * window for count in MEASURED_WINDOWS if count * window <= MOST_TOKENS)


@st.cache_data(max_entries=16, show_spinner="Measuring both, size by size …")
def measured(window: int, dim: int) -> list[Measurement]:
    """Both forms at a few sizes; kept for everyone."""
    with _ONE_AT_A_TIME:
        return measure(sides_of(window), dim, window)


def draw() -> None:
    """The formula's plot, and the measured one beside it."""
    st.subheader("Cost: all tokens, or windows", anchor=False)
    left, right, _ = st.columns([2, 3, 3], vertical_alignment="bottom")
    with left:
        window = controls.segmented("swin.cost_window", "Window M, tokens", WINDOWS, 7)
    with right:
        dim = controls.segmented("swin.cost_dim", "Width C", WIDTHS, 96)
    rule, clock = st.columns(2, gap="medium")
    with rule:
        formula(window, dim)
    with clock:
        by_the_clock(window, dim)


def formula(window: int, dim: int) -> None:
    """Multiply-adds from the paper's equations 1 and 2."""
    sides = np.array(SIDES_PX) // PATCH_PX
    tokens = (sides**2).astype(float)
    full = np.array([global_attention_cost(int(s), int(s), dim) for s in sides], float)
    cut = np.array([window_attention_cost(int(s), int(s), dim, window) for s in sides], float)
    st.markdown("**By the formula**: multiply-adds of one attention layer")
    figure = plots.cost_figure(
        list(tokens),
        {"global": full, "windows": cut},
        TOKENS,
        "multiply-adds",
        "",
        nouns.mode(),
    )
    page.figure(figure, "swin.cost")
    at = SIDES_PX.index(224)
    equal, n, c = window**2, f"{56**2:,}".replace(",", "{,}"), dim
    st.markdown(
        rf":small[224 px, global: $4 \cdot {n} \cdot {c}^2 + 2 \cdot {n}^2 \cdot {c}$]  "
        "\n"
        rf":small[224 px, windows: $4 \cdot {n} \cdot {c}^2 + 2 \cdot {window}^2 \cdot {n} \cdot {c}$]"
    )
    page.caption(
        f"That is {full[at] / 1e6:,.0f} against {cut[at] / 1e6:,.0f} million, {full[at] / cut[at]:.1f} times. From"
        f" {SIDES_PX[-2]} to {SIDES_PX[-1]:,} px ({tokens[-2]:,.0f} to {tokens[-1]:,.0f} tokens) the slope is"
        f" {slope(tokens[-2:], full[-2:]):.2f} for global attention, which tends to 2, and"
        f" {slope(tokens[-2:], cut[-2:]):.2f} for windows. Both cost the same where the picture is one window of"
        f" {equal} tokens."
    )


def by_the_clock(window: int, dim: int) -> None:
    """Seconds and bytes on this machine, measured when asked for."""
    st.markdown("**By the clock**: this machine, one picture")
    asked: set[tuple[int, int]] = st.session_state.setdefault("swin.asked", set())
    if (window, dim) not in asked:
        sizes = ", ".join(f"{side} × {side}" for side in sides_of(window))
        st.caption(f"Runs both on {sizes} tokens: a few seconds.")
        st.button(
            "Measure here",
            key="swin.measure",
            icon=":material/timer:",
            on_click=asked.add,
            args=((window, dim),),
        )
        return
    found = measured(window, dim)
    sides = np.array([one.side for one in found], float)
    tokens = sides**2
    what = controls.segmented("swin.cost_shown", "Shown", ["time", "memory"], label_visibility="collapsed")
    if what == "time":
        full, cut = (np.array([getattr(one, f"{kind}_s") for one in found]) for kind in ("global", "window"))
        title, unit = "seconds", "s"
    else:
        full, cut = (
            np.array([getattr(one, f"{kind}_bytes") for one in found], float) for kind in ("global", "window")
        )
        title, unit = "bytes held at once", "B"
    figure = plots.cost_figure(
        list(tokens),
        {"global": full, "windows": cut},
        TOKENS,
        title,
        unit,
        nouns.mode(),
        height_px=272,
    )
    page.figure(figure, f"swin.measured_{what}")
    page.caption(
        f"Slopes over these sizes: {slope(tokens, full):.2f} global, {slope(tokens, cut):.2f} windows (by the formula"
        f" 2, where pictures are large, and 1). At {sides[-1] * PATCH_PX:.0f} px: {amount(full[-1], unit)} against"
        f" {amount(cut[-1], unit)}, {full[-1] / cut[-1]:.0f} times."
        + (" Median of 3 runs." if unit == "s" else " What PyTorch holds beyond the input.")
    )


def amount(value: float, unit: str) -> str:
    """'12.4 ms' or '9.7 MB'."""
    return f"{1000 * value:,.1f} ms" if unit == "s" else f"{value / 1e6:,.1f} MB"
