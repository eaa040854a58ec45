"""Information flow between patches: what windows and masks allow after every block, and what gradients measure."""

from functools import lru_cache, partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions, swin_selection
from pages.selection import selection, subject
from pages.stores import shared_cache
from pages.views.figures import draw_heat_grid
from pages.views.register import register
from vitviz.analysis import token_reach
from vitviz.analysis import window_attention as analysis
from vitviz.lessons import formula_measures, lesson
from vitviz.models.abilities import as_swin
from vitviz.plots import swin as plots
from vitviz.probe.swin import patch_gradients

KEY = "swin.reach"
BLOCKS = 8  # with windows of 4, a corner of 16 x 16 patches reaches the whole image after 7
CNN_RADIUS = 2  # two 3 x 3 convolutions, as in a residual block
MOST_GRADIENTS = 12  # blocks side by side
_reach_view = register(__file__, "swin_reach", "swin_panels")


@lru_cache(maxsize=32)
def compute_hops(controls: swin_selection.GridControls) -> dict[str, plots.Hops]:
    """Return hops by title: shifted Swin (if there is a shift), unshifted Swin, ViT and CNN, in this order."""
    side, tokens = (controls.grid, controls.grid), controls.grid**2
    layout = analysis.create_layout(side, controls.window, controls.shift)
    regular = token_reach.window_links(layout.plain, None, tokens)
    shifted = token_reach.window_links(layout.index, layout.mask, tokens)
    global_links = np.ones((tokens, tokens), bool)
    local_links = token_reach.convolution_links(side, CNN_RADIUS)
    windows = f"windows of {controls.window}"
    kinds = (
        {"Swin, shifted": (f"{windows}, shift {controls.shift}", regular, shifted)} if controls.shift else {}
    )
    kinds |= {
        "Swin, unshifted": (windows, regular, regular),
        "ViT": ("global attention", global_links, global_links),
        "CNN": ("two 3 × 3 convolutions per block", local_links, local_links),
    }
    return {
        title: (note, token_reach.first_block(token_reach.alternate(first, second, BLOCKS)))
        for title, (note, first, second) in kinds.items()
    }


def draw(controls: swin_selection.GridControls) -> None:
    side, hops = (controls.grid, controls.grid), compute_hops(controls)
    pin = selection.get_current().pin.cell(side)
    blocks = widgets.resolve_option("swin.blocks", tuple(range(BLOCKS + 1)), 1)
    widgets.store_value("swin.blocks", blocks)
    payload = plots.reach(swin_selection.crop_image(), side, hops, pin, begin=blocks)
    clicked = partial(selection.apply_click, KEY, blocks="swin.blocks")
    _reach_view(payload, key=KEY, triggers=("pin", "blocks"), on_change=clicked)
    page.caption(captions.describe_flow(hops, pin, controls.shift, BLOCKS))
    _draw_gradients(subject.load_current())
    page.drawers(
        "swin.travel",
        math=page.read_math(__file__),
        code=(token_reach.window_links, token_reach.follow, token_reach.reads, patch_gradients),
        ask=lesson.Question(
            "16 × 16 patches, windows of 4, shift 2: after how many blocks has patch 1 reached all patches?",
            formula_measures.BlocksToReach(16, 4, 2),
        ),
    )


def _draw_gradients(swin: subject.Subject) -> None:
    rows, cols = swin.layout.grid
    st.subheader(
        f"Measured on the model’s {rows} × {cols} patches: gradient of one output token", anchor=False
    )
    page.untrained_note(swin.choice.trained_on)
    all_blocks = token_reach.swin_blocks(as_swin(swin.model.config), swin.layout.grid)
    last = len(all_blocks) - MOST_GRADIENTS
    first = widgets.slider("swin.first", "First block", 1, last + 1, 1) - 1 if last > 0 else 0
    blocks = all_blocks[first : first + MOST_GRADIENTS]
    pin, names = selection.get_current().pin, tuple(block.name for block in blocks)
    gradients = _compute_gradients(swin, names, pin.point)
    tokens = [pin.cell(block.grid) for block in blocks]
    allowed = np.stack([token_reach.reads(all_blocks, first + i, token) for i, token in enumerate(tokens)])
    payload = plots.gradient(
        swin_selection.crop_image(),
        swin.layout.grid,
        blocks=blocks,
        tokens=tokens,
        allowed=allowed,
        gradients=gradients,
    )
    draw_heat_grid(payload, key="swin.gradient")
    page.caption(captions.describe_gradients(allowed, gradients))


@shared_cache.per_image(shared=24, upload=8, spinner="Computing gradients …")
def _compute_gradients(
    swin: subject.Subject, names: tuple[str, ...], point: tuple[float, float]
) -> NDArray[np.float64]:
    """Return (blocks, patches)."""
    return patch_gradients(swin.model.model, swin.prepared.input, names, point)
