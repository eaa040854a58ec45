"""Controls of the sections that need no model: grid, window and shift."""

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page

GRIDS = (4, 6, 8, 12, 14, 16)
WINDOWS = (2, 3, 4, 6, 7, 8)
_LAST_WINDOW = "swin._last_window"


@dataclass(frozen=True)
class GridControls:
    """Patches per side of the image and of a window, and the shift of every second block."""

    grid: int
    window: int
    shift: int


def draw_controls() -> GridControls:
    """Draw grid, window and shift behind the button 'Options'."""
    with page.row(), page.options("swin.grid"):
        grid = widgets.segmented(
            "swin.grid",
            "Grid, patches per side",
            GRIDS,
            8,
            help="The grid is square; Swin-T has 56 in its first stage.",
        )
        fitting = tuple(m for m in WINDOWS if grid % m == 0 and m < grid)
        window = widgets.segmented(
            "swin.window",
            "Window M, patches",
            fitting,
            4 if 4 in fitting else fitting[-1],
            help=f"Window sizes that divide {grid}; the paper uses M = 7.",
        )
        # A new window size sets the paper's shift; the shift of a permalink stays at first.
        if st.session_state.get(_LAST_WINDOW, window) != window:
            widgets.set_control("swin.shift", window // 2)
        st.session_state[_LAST_WINDOW] = window
        shift = widgets.segmented(
            "swin.shift",
            "Shift s, patches",
            tuple(range(window)),
            window // 2,
            help="The paper shifts every second block by s = ⌊M/2⌋; 0 disables the shift.",
        )
    return GridControls(grid, window, shift)
