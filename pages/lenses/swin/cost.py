"""Cost of global and windowed attention: multiply-adds by formula, runtime and memory measured on this server."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions
from pages.selection import selection
from pages.stores import timings
from pages.views.chart import draw_chart
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

ASKS = (
    Question(
        "56 × 56 patches of width 96: how many times as much does global attention cost as windows of 7?",
        formula_measures.WindowCost(56, 7),
    ),
)


@dataclass(frozen=True)
class CostControls(widgets.ControlValues, page="swin"):
    """Side of the window in tokens, and width of a token."""

    cost_window: int
    cost_dim: int


@dataclass(frozen=True)
class MeasurementControls(widgets.ControlValues, page="swin"):
    """The measured quantity that is drawn: 'time' or 'memory'."""

    cost_shown: str


def draw() -> None:
    _draw_costs()
    page.drawers(
        "swin.cost",
        math=page.read_math(__file__),
        code=(global_attention_cost, window_attention_cost, measure),
        asks=ASKS,
    )


@st.fragment
def _draw_costs() -> None:
    left, right, _ = st.columns([2, 3, 3], vertical_alignment="bottom")
    with left:
        window = widgets.segmented(CostControls.key("cost_window"), "Window M, tokens", WINDOWS, 7)
    with right:
        dim = widgets.segmented(CostControls.key("cost_dim"), "Width C", WIDTHS, 96)
    controls = CostControls(window, dim)
    left, right = st.columns(2, gap="medium")
    with left:
        _draw_formula(controls)
    with right:
        _draw_measurement(controls)


def compute_costs(window: int, dim: int) -> plots.Costs:
    """Return the multiply-adds of the paper's equations 1 and 2 for all image sizes."""
    sides = [px // PATCH_PX for px in SIDES_PX]
    return plots.Costs(
        np.array(sides, float) ** 2,
        np.array([global_attention_cost(s, s, dim) for s in sides], float),
        np.array([window_attention_cost(s, s, dim, window) for s in sides], float),
        "multiply-adds",
    )


def _draw_formula(controls: CostControls) -> None:
    window, dim = controls.cost_window, controls.cost_dim
    costs = compute_costs(window, dim)
    st.markdown("**By formula**: multiply-adds of one attention layer")
    draw_chart(plots.cost_figure(costs, TOKENS, selection.get_theme()), "swin.cost")
    n = f"{56**2:,}".replace(",", "{,}")
    st.markdown(
        rf":small[224 px, global: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {n}^2 \cdot {dim}$]  "
        "\n"
        rf":small[224 px, windows: $4 \cdot {n} \cdot {dim}^2 + 2 \cdot {window}^2 \cdot {n} \cdot {dim}$]"
    )
    page.caption(captions.describe_formula_cost(costs, SIDES_PX, window))


def _draw_measurement(controls: CostControls) -> None:
    st.markdown("**Measured** on this server, one image")
    requested: set[CostControls] = st.session_state.setdefault("swin._asked", set())
    if controls not in requested:
        sizes = ", ".join(f"{side} × {side}" for side in timings.list_sides(controls.cost_window))
        st.caption(f"Runs both for {sizes} tokens; takes a few seconds.")
        st.button(
            "Measure runtime",
            key="swin.measure",
            icon=":material/timer:",
            on_click=requested.add,
            args=(controls,),
        )
        return
    with st.spinner("Measuring …"):
        measurements = timings.time_attention(controls.cost_window, controls.cost_dim)
    quantity = widgets.segmented(
        MeasurementControls.key("cost_shown"), "Quantity", ["time", "memory"], label_visibility="collapsed"
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
