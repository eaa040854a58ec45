"""Controls of grid, window and shift, and the selected image cropped for a Swin."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import shared_cache
from vitviz.data.image_preprocessing import seen_crop

IMAGE_PX = 384
GRIDS = (4, 6, 8, 12, 14, 16)
WINDOWS = (2, 3, 4, 6, 7, 8)
_LAST_WINDOW = "swin._last_window"


@dataclass(frozen=True)
class GridControls:
    """Patches per side of the image and of a window, and the shift of every second block."""

    grid: int
    window: int
    shift: int


def crop_image() -> NDArray[np.uint8]:
    """Return the square that the sidebar's model receives, (S, S, 3), at the source's resolution if finer."""
    image, preparation = selection.get_current().image, selection.get_model_choice().preparation
    prepared = selection.prepare_image(preparation)
    if preparation.digit or max(prepared.box[2:]) <= IMAGE_PX / 2:
        return prepared.shown
    offset = selection.get_current().offset
    return seen_crop(shared_cache.load_image(image), preparation, offset, IMAGE_PX)


def draw_grid_controls() -> GridControls:
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
