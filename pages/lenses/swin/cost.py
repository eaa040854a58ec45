"""Cost of global and window attention: multiply-adds by formula, runtime and memory measured on this server."""

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions
from pages.selection import selection
from pages.stores import timings
from pages.views.figures import draw_chart
from vitviz.lessons import formula_measures, lesson
from vitviz.plots import cost as plots
from vitviz.probe.swin import Measurement, measure
from vitviz.shifted_windows import global_attention_cost, window_attention_cost

PATCH_PX = 4
TOKENS = "tokens N (patches of 4 px)"
SIDES_PX = (112, 224, 448, 896, 1792)
WINDOWS = (4, 7, 8)
WIDTHS = (48, 96, 192, 384)


def draw() -> None:
    _draw_costs()
    page.drawers(
        "swin.cost",
        math=page.read_math(__file__),
        code=(global_attention_cost, window_attention_cost, measure),
        ask=lesson.Question(
            "By what factor does global attention cost more than windows of 7 × 7, for 56 × 56 patches of width 96?",
            formula_measures.WindowCost(56, 7),
        ),
    )


@st.fragment
def _draw_costs() -> None:
    with page.row():
        window = widgets.segmented("swin.cost_window", "Window M, tokens", WINDOWS, 7)
        dim = widgets.segmented("swin.cost_dim", "Width C", WIDTHS, 96)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _draw_formula(window, dim)
    with right:
        _draw_measurement(window, dim)


def compute_costs(window: int, dim: int) -> plots.Costs:
    """Return the multiply-adds of the paper's equations 1 and 2 for all image sizes."""
    sides = [px // PATCH_PX for px in SIDES_PX]
    return plots.Costs(
        np.array(sides, float) ** 2,
        np.array([global_attention_cost(s, s, dim) for s in sides], float),
        np.array([window_attention_cost(s, s, dim, window) for s in sides], float),
        "multiply-adds",
    )


def _draw_formula(window: int, dim: int) -> None:
    costs = compute_costs(window, dim)
    st.markdown("**By formula**: multiply-adds of one attention layer")
    draw_chart(plots.cost_figure(costs, TOKENS, selection.get_theme()), "swin.cost")
    n = f"{56**2:,}".replace(",", "{,}")
    st.markdown(
        rf"224 px, global: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {n}^2 \cdot {dim}$  "
        "\n"
        rf"224 px, windows: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {window}^2 \cdot {n} \cdot {dim}$"
    )
    page.caption(captions.describe_formula_cost(costs, SIDES_PX, window))


def _draw_measurement(window: int, dim: int) -> None:
    st.markdown("**Measured** on this server, one image")
    requested: set[tuple[int, int]] = st.session_state.setdefault("swin._asked", set())
    if (window, dim) not in requested:
        sizes = ", ".join(f"{side} × {side}" for side in timings.list_sides(window))
        st.caption(f"Timing global and window attention on {sizes} tokens takes a few seconds.")
        st.button(
            "Measure runtime",
            key="swin.measure",
            icon=":material/timer:",
            on_click=requested.add,
            args=((window, dim),),
        )
        return
    with st.spinner("Measuring …"):
        measurements = timings.time_attention(window, dim)
    quantity = widgets.segmented(
        "swin.cost_shown", "Quantity", ["time", "memory"], label_visibility="collapsed"
    )
    costs = select_costs(measurements, quantity)
    figure = plots.cost_figure(costs, TOKENS, selection.get_theme(), height_px=272)
    draw_chart(figure, f"swin.measured_{quantity}")
    page.caption(captions.describe_measured_cost(costs, PATCH_PX))


def select_costs(measurements: list[Measurement], quantity: str) -> plots.Costs:
    """Return the measured seconds (quantity 'time') or bytes ('memory')."""
    tokens = np.array([m.side**2 for m in measurements], float)
    if quantity == "time":
        full, cut = [m.global_s for m in measurements], [m.window_s for m in measurements]
        return plots.Costs(tokens, np.array(full), np.array(cut), "seconds", "s")
    full, cut = [m.global_bytes for m in measurements], [m.window_bytes for m in measurements]
    return plots.Costs(tokens, np.array(full, float), np.array(cut, float), "peak memory in bytes", "B")
