"""Partition, roll, region ids, mask, attention, reverse, unroll: one pair of blocks, step by step."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.beyond.swin import subject
from pages.beyond.swin import views as views
from pages.shell import controls, nouns, page
from vitviz.analysis import windows as analysis
from vitviz.plots import swin as plots
from vitviz.words import percent

GRIDS = (4, 6, 8, 12, 14, 16)
WINDOWS = (2, 3, 4, 6, 7, 8)
KEY = "swin.stepper"
LAST_WINDOW = "swin.last_window"


def read_controls() -> tuple[int, int, int]:
    """Grid, window and shift, in patches."""
    left, middle, right = st.columns([3, 3, 4], vertical_alignment="bottom")
    with left:
        grid = controls.segmented(
            "swin.grid", "Grid, patches per side", GRIDS, 8, help="H = W. 56 in the first stage of Swin-T."
        )
    fitting = tuple(m for m in WINDOWS if grid % m == 0 and m < grid)
    with middle:
        window = controls.segmented(
            "swin.window",
            "Window M, patches",
            fitting,
            4 if 4 in fitting else fitting[-1],
            help=f"Windows that tile a grid of {grid}. The paper uses M = 7.",
        )
    # Another window brings the paper's own shift with it; a link's first word stands.
    if st.session_state.get(LAST_WINDOW, window) != window:
        controls.set_value("swin.shift", window // 2)
    st.session_state[LAST_WINDOW] = window
    with right:
        shift = controls.segmented(
            "swin.shift",
            "Shift s, patches",
            tuple(range(window)),
            window // 2,
            help="The paper shifts every second block by s = ⌊M/2⌋. With 0 no block is shifted.",
        )
    return grid, window, shift


def draw() -> None:
    """The page's stage."""
    grid, window, shift = read_controls()
    found = analysis.layout((grid, grid), window, shift)
    shown = subject.picture()
    attn = analysis.colour_attention(shown, found)
    unmasked = analysis.colour_attention(shown, found, masked=False)
    leak = analysis.leaked_share(found, unmasked)
    payload = plots.stepper(shown, found, attn, unmasked, leak, nouns.current().pin.cell(found.grid))
    views.stepper(payload, key=KEY, on_change=partial(subject.keep_pin, KEY))
    page.caption(describe(found, leak))


def describe(found: analysis.Layout, leak: np.ndarray) -> str:
    """The caption, from the numbers of the picture."""
    count, cells = found.index.shape
    start = f"{found.grid[0]} × {found.grid[1]} patches make {count:,} windows of {cells:,}"
    if not found.shift:
        return (
            f"{start}. Without a shift the two blocks see the same windows, and no window hears of another until four"
            " tokens are merged into one: a window of the next stage covers four of this one."
        )
    touched = leak[leak > 0]
    return (
        f"{start}. Rolled by {found.shift}, {found.masked_windows:,} of them hold patches from more than one side of"
        f" the picture, so {found.masked_pairs:,} of {found.mask.size:,} query–key pairs are masked"
        f" ({percent(found.masked_pairs / found.mask.size)}). Without the mask, {len(touched):,} patches would read"
        f" across the edge, with {percent(touched.mean(), 0)} of their attention on average."
    )


def chosen() -> analysis.Layout:
    """The layout of the controls, as they stand in this run."""
    said = st.session_state
    grid = said["swin.grid"]
    return analysis.layout((grid, grid), said["swin.window"], said["swin.shift"])


def numbers() -> None:
    """The windows as tables, to take away."""
    found = chosen()
    cells = found.index.shape[1]
    st.markdown(
        f"The rolled grid's region ids, and {len(found.index):,} windows of {cells:,} slots with the patch in each"
        " (patches count from 1)."
    )
    left, middle, right = st.columns(3)
    rows = [",".join(str(value) for value in row) for row in found.ids]
    left.download_button(
        "Region ids (CSV)",
        "\n".join(rows) + "\n",
        "region_ids.csv",
        "text/csv",
        key="swin.csv_ids",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )
    rows = [",".join(str(value + 1) for value in row) for row in found.index]
    middle.download_button(
        "Patch of every slot (CSV)",
        "\n".join(rows) + "\n",
        "windows.csv",
        "text/csv",
        key="swin.csv_windows",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )
    right.download_button(
        "Masks (CSV)",
        lambda: (
            "window,query,key\n"
            + "\n".join(f"{w + 1},{q + 1},{k + 1}" for w, q, k in np.argwhere(found.mask < 0))
        ),
        "masked_pairs.csv",
        "text/csv",
        key="swin.csv_masks",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )
    st.dataframe(found.ids, height=240)
