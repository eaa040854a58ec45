"""A learned table stretched to another grid: its similarities before and after, and the measured accuracy."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st
import torch

from pages.inside.positions import encodings
from pages.inside.positions.similarity import number
from pages.inside.positions.similarity_view import similarity as mosaic_view
from pages.shell import controls, nouns, page, stand_in
from pages.stores import catalogue
from vitviz.analysis import positions
from vitviz.models.vit import resize_positions
from vitviz.plots import positions as plots

MEASURED = "resize_accuracy.json"
LARGEST = 20
MATH = """
A ViT of 32 px and patch 4 has a table for 8 × 8 positions. A picture of 64 px has 16 × 16 patches. Before
fine-tuning at higher resolution the table is *interpolated according to its places in the original picture*
(Dosovitskiy et al. 2021, section 3.2): folded to 8 × 8 × D, stretched bicubically to 16 × 16 × D, unfolded.
Prefix positions ([CLS]) are kept.

Along the reading order (the slip): the 64 rows are stretched to 256 as a list. The end of one row of patches
runs into the beginning of the next, and what was a column is one no more.
"""
TRY_THIS = """
1. **Predict first:** at twice the side, how similar are two new neighbours? Compare *one step away* before and after.
2. Switch to the slip and look at one tile. What has happened to its column?
3. Choose a model at step 0. Does stretching make a structure where none was?
"""


def draw() -> None:
    """The whole view: controls, mosaics before and after, the measured accuracies, drawers."""
    if not encodings.has_own() or nouns.choice().config.positions != "learned":
        stand_in.offer(
            "Only a learned table is stretched; computed encodings are computed anew for every grid.",
            "resize.instead",
            icon=":material/aspect_ratio:",
        )
        return
    table = encodings.find(
        encodings.OWN, encodings.DEFAULT_GRID, encodings.DEFAULT_DIM, encodings.DEFAULT_BASE
    )
    own = table.grid[0]
    left, right = st.columns([2, 1.4], vertical_alignment="bottom")
    with left:
        side = controls.slider(
            "positions.side", "New grid, patches along a side", 2, LARGEST, min(2 * own, LARGEST)
        )
    with right:
        way = controls.segmented(
            "positions.way",
            "Stretch",
            ("grid", "list"),
            "grid",
            format_func={"grid": "On the grid, bicubic", "list": "As a list (the slip)"}.__getitem__,
        )
    before, after = table.now, _stretched(table, side, way)
    grids = (table.grid, (side, side))
    matrices = [positions.cosine_similarity(values) for values in (before, after)]
    patch = nouns.choice().config.patch_size
    titles = ("Before", "After")
    panels = [
        plots.Panel(title, f"{g[0]} × {g[1]} positions, {g[0] * patch} px", g, matrix[None])
        for title, g, matrix in zip(titles, grids, matrices, strict=True)
    ]
    mosaic_view(
        plots.mosaic(panels, encodings.picture(), nouns.current().pin.point, active=1),
        key="positions.resized",
    )
    found = [positions.structure(matrix, grid) for matrix, grid in zip(matrices, grids, strict=True)]
    page.caption(
        f"{own} × {own} to {side} × {side}: patches one step away had {number(found[0].either_step)} and have"
        f" {number(found[1].either_step)}; elsewhere {number(found[0].elsewhere)} and {number(found[1].elsewhere)}."
        + (" The picture has the same extent, so a step is shorter now." if side > own else "")
    )
    _accuracy(side * patch)
    page.drawers(
        "positions.resize",
        math=MATH,
        code=(resize_positions, positions.stretch_as_list),
        try_this=TRY_THIS,
    )


def _stretched(table: encodings.Table, side: int, way: str) -> Any:
    if way == "list":
        return positions.stretch_as_list(table.now, side * side)
    values = torch.tensor(table.now, dtype=torch.float32)[None]
    return resize_positions(values, table.grid, (side, side))[0].numpy()


def _accuracy(size_px: int) -> None:
    st.markdown("**Accuracy on pictures of another size, nothing trained anew**")
    entry = _measured()
    if entry is None:
        st.markdown(
            ":gray[Measured for shipped checkpoints at their last step; this model is none of them.]",
        )
        return
    accuracy = {
        "stretched on the grid": entry["grid"],
        "stretched as a list (the slip)": entry["list"],
    }
    native = nouns.choice().config.image_size
    st.plotly_chart(
        plots.resize_figure(entry["sizes"], accuracy, native, nouns.mode()),
        theme=None,
        key="positions.resize_accuracy",
        config={"displayModeBar": False},
    )
    largest = max(range(len(entry["sizes"])), key=lambda i: entry["sizes"][i])
    at = entry["sizes"].index(native)
    page.caption(
        f"Before, at {native} px: {100 * entry['grid'][at]:.1f} %. After, at {entry['sizes'][largest]} px:"
        f" {100 * entry['grid'][largest]:.1f} % with the table stretched on its grid,"
        f" {100 * entry['list'][largest]:.1f} % as a list. {entry['pictures']:,} test pictures, at its last"
        f" step, measured {entry['measured']} with `{entry['command']}`."
    )


def _measured() -> dict[str, Any] | None:
    """What was measured for exactly these weights; None where they have changed since, or never were."""
    choice = nouns.choice()
    file = catalogue.CHECKPOINTS / MEASURED
    if not file.is_file() or choice.path is None or not choice.key.startswith("checkpoint:"):
        return None
    stored = json.loads(file.read_text("utf-8"))
    entry = stored["models"].get(choice.path.stem)
    if entry is None or entry["digest"] != catalogue.header(choice.path).digest:
        return None
    return entry | {"command": stored["command"]}
