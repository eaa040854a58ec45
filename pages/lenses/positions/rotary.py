"""Rotary positions: how the pairs of a query and a key turn with their offset, and the score that follows."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions.captions import describe_rotation
from pages.lenses.positions.encodings import BASES, GRIDS, Grid
from pages.selection import selection
from pages.views.figures import draw_chart
from vitviz import sinusoids
from vitviz.analysis import position_similarity
from vitviz.models import layers
from vitviz.plots.positions import rotary_figure

WIDTHS = (8, 16, 32, 64)
STEPS = tuple(range(-7, 8))


def draw() -> None:
    offset, shape = _draw_controls()
    choice = selection.get_model_choice()
    uses = "uses" if getattr(choice.config, "positions", "") == "rotary" else "does not use"
    page.markdown(
        "A rotary position embedding turns each pair, two values of a query or key, as a vector in a plane."
        f" {choice.shown} {uses} it."
    )
    draw_chart(rotary_figure(*shape, offset=offset, mode=selection.get_theme()), "positions.rotary")
    page.caption(describe_rotation(*shape, offset=offset))
    page.drawers(
        "positions.rotary",
        math=page.read_math(__file__),
        code=(sinusoids.rotary_2d, layers.rotate, position_similarity.rotary_scores),
    )


def _draw_controls() -> tuple[tuple[int, int], tuple[Grid, int, float]]:
    """Return the offset of query and key in patches, and the grid, the width per head and the base."""
    with page.row():
        sliders = st.container(width=240), st.container(width=240)
        with page.options("positions.rotary"):
            grid = widgets.select("positions.rope_grid", "Grid, patches", GRIDS, (8, 8))
            dim = widgets.select("positions.rope_dim", "Width of a head", WIDTHS, 32)
            base = widgets.select("positions.rope_base", "Base", BASES, 100.0)
        steps = tuple(step for step in STEPS if abs(step) < grid[0])
        with sliders[0]:
            down = widgets.select_slider(
                "positions.down", "Rows down", steps, 0, help="From the query to the key."
            )
        with sliders[1]:
            right = widgets.select_slider("positions.right", "Columns right", steps, 2)
    return (down, right), (grid, dim, base)
