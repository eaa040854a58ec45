"""A learned table stretched to another grid: its similarities before and after, and the measured accuracy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import encodings
from pages.lenses.positions.similarity import number
from pages.lenses.positions.similarity_view import similarity as mosaic_view
from pages.selection import selection, substitute
from pages.stores import catalogue
from vitviz.analysis import position_similarity
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.vit import resize_positions
from vitviz.plots import positions as plots
from vitviz.probe.positions import stretched
from vitviz.text import percent

MEASURED = "resize_accuracy.json"
LARGEST = 20
WAYS = {"grid": "On the grid, bicubic", "list": "As a list (the slip)"}
MATHEMATICS = """
A ViT of 32 px and patch 4 has a table for 8 × 8 positions. A picture of 64 px has 16 × 16 patches. Before
fine-tuning at higher resolution the table is *interpolated according to its places in the original picture*
(Dosovitskiy et al. 2021, section 3.2): folded to 8 × 8 × D, stretched bicubically to 16 × 16 × D, unfolded.
The positions of tokens before the patches, such as [CLS], a learned token that the answer is read from, are kept.

Along the reading order (the slip): the 64 rows are stretched to 256 as a list. The end of one row of patches
runs into the beginning of the next, and what was a column is one no more.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """The side of the new grid in patches, and which of `WAYS` leads there."""

    side: int
    way: str


def draw() -> None:
    """The whole view: controls, mosaics before and after, the measured accuracies, drawers."""
    learned = abilities(selection.choice().config).learned_positions
    if not learned:
        substitute.offer(learned.why_not, "resize.instead", icon=":material/aspect_ratio:")
        return
    table = encodings.find(
        encodings.OWN, encodings.DEFAULT_GRID, encodings.DEFAULT_DIM, encodings.DEFAULT_BASE
    )
    own = table.grid[0]
    chosen = _read(own)
    side = chosen.side
    before, after = table.now, _stretched(table, chosen)
    grids = (table.grid, (side, side))
    matrices = [position_similarity.cosine_similarity(values) for values in (before, after)]
    patch = as_vit(selection.choice().config).patch_size
    titles = ("Before", "After")
    panels = [
        plots.Panel(title, f"{g[0]} × {g[1]} positions, {g[0] * patch} px", g, matrix[None])
        for title, g, matrix in zip(titles, grids, matrices, strict=True)
    ]
    mosaic_view(
        plots.mosaic(panels, encodings.picture(), selection.current().pin.point, active=1),
        key="positions.resized",
    )
    found = [
        position_similarity.structure(matrix, grid) for matrix, grid in zip(matrices, grids, strict=True)
    ]
    page.caption(
        f"{own} × {own} to {side} × {side}: patches one step away had {number(found[0].either_step)} and have"
        f" {number(found[1].either_step)}; elsewhere {number(found[0].elsewhere)} and {number(found[1].elsewhere)}."
        + (" The picture has the same extent, so a step is shorter now." if side > own else "")
    )
    _accuracy(side * patch)
    page.drawers(
        "positions.resize",
        math=MATHEMATICS,
        code=(resize_positions, position_similarity.stretch_as_list),
    )


def _read(own: int) -> Choice:
    left, right = st.columns([2, 1.4], vertical_alignment="bottom")
    with left:
        side = widgets.slider(
            Choice.key("side"), "New grid, patches along a side", 2, LARGEST, min(2 * own, LARGEST)
        )
    with right:
        way = widgets.segmented(
            Choice.key("way"), "Stretch", tuple(WAYS), "grid", format_func=WAYS.__getitem__
        )
    return Choice(side, way)


def _stretched(table: encodings.Table, chosen: Choice) -> encodings.FloatArray:
    if chosen.way == "list":
        return position_similarity.stretch_as_list(table.now, chosen.side**2)
    return stretched(table.now, table.grid, (chosen.side, chosen.side))


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
    native = selection.choice().config.image_size
    page.figure(
        plots.resize_figure(entry["sizes"], accuracy, native, selection.mode()), "positions.resize_accuracy"
    )
    largest = max(range(len(entry["sizes"])), key=lambda i: entry["sizes"][i])
    at = entry["sizes"].index(native)
    page.caption(
        f"Before, at {native} px: {percent(entry['grid'][at])}. After, at {entry['sizes'][largest]} px:"
        f" {percent(entry['grid'][largest])} with the table stretched on its grid,"
        f" {percent(entry['list'][largest])} as a list. {entry['pictures']:,} test pictures, at its last"
        f" step, measured {entry['measured']} with `{entry['command']}`."
    )


def _measured() -> dict[str, Any] | None:
    """What was measured for exactly these weights; None where they have changed since, or never were."""
    choice = selection.choice()
    file = catalogue.CHECKPOINTS / MEASURED
    if not file.is_file() or choice.path is None or not choice.key.startswith("checkpoint:"):
        return None
    stored = json.loads(file.read_text("utf-8"))
    entry = stored["models"].get(choice.path.stem)
    if entry is None or entry["digest"] != catalogue.header(choice.path).digest:
        return None
    measured: dict[str, Any] = entry | {"command": stored["command"]}
    return measured
