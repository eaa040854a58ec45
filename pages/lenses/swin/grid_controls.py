"""The grid, its windows and their shift: the controls of the two sections that need no model."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page

GRIDS = (4, 6, 8, 12, 14, 16)
WINDOWS = (2, 3, 4, 6, 7, 8)
_LAST_WINDOW = "swin._last_window"


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Patches per side of the picture and of a window, and by how many every second block shifts."""

    grid: int
    window: int
    shift: int


def read() -> Choice:
    """Draws the shift, and behind one button the grid and its windows."""
    with page.row():
        shifts = st.container(width="content")
        behind = page.options("swin.grid")
    with behind:
        grid = widgets.segmented(
            Choice.key("grid"),
            "Grid, patches per side",
            GRIDS,
            8,
            help="H = W. 56 in the first stage of Swin-T.",
        )
        fitting = tuple(m for m in WINDOWS if grid % m == 0 and m < grid)
        window = widgets.segmented(
            Choice.key("window"),
            "Window M, patches",
            fitting,
            4 if 4 in fitting else fitting[-1],
            help=f"Windows that tile a grid of {grid}. The paper uses M = 7.",
        )
    # Another window brings the paper's own shift with it; a link's first word stands.
    if st.session_state.get(_LAST_WINDOW, window) != window:
        Choice.change(shift=window // 2)
    st.session_state[_LAST_WINDOW] = window
    with shifts:
        shift = widgets.segmented(
            Choice.key("shift"),
            "Shift s, patches",
            tuple(range(window)),
            window // 2,
            help="The paper shifts every second block by s = ⌊M/2⌋. With 0 no block is shifted.",
        )
    return Choice(grid, window, shift)
