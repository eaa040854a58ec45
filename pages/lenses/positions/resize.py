"""A learned table resized to another grid: similarities before and after, and stored accuracies."""

import json
from math import prod
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import captions, encodings
from pages.lenses.positions.similarity import draw_mosaics
from pages.selection import selection
from pages.stores import catalogue
from pages.views.figures import draw_chart
from vitviz.analysis import position_similarity
from vitviz.config_fields import format_size, join_size
from vitviz.models import abilities, vit
from vitviz.plots import positions as plots
from vitviz.probe.embedding import stretch_positions
from vitviz.weight_identity import resolve_identity

ACCURACY_FILE = "resize_accuracy.json"
MAX_SIDE = 20
WAYS = {"grid": "Bicubic on the grid", "list": "As a list (bug)"}


def draw() -> None:
    choice = selection.get_model_choice()
    config = abilities.as_vit(choice.config)
    with page.row():
        side = widgets.slider(
            "positions.side", "New grid side", 2, MAX_SIDE, min(2 * config.grid[0], MAX_SIDE)
        )
        way = widgets.segmented("positions.way", "Interpolation", WAYS, "grid")
    rows, cols = config.grid
    grids = (config.grid, (side, max(1, round(side * cols / rows))))  # the side of the rows
    before = encodings.load_encoding(encodings.SELECTED_MODEL, encodings.EncodingControls()).values
    after = (
        position_similarity.stretch_as_list(before, prod(grids[1]))
        if way == "list"
        else stretch_positions(before, *grids, config.positions_antialias, config.positions_align_corners)
    )
    matrices = [position_similarity.cosine_similarity(values) for values in (before, after)]
    panels = [
        plots.EncodingPanel(
            title, f"{g[0]} × {g[1]} positions, {_format_px(g, config.patch_size)} px", g, matrix[None]
        )
        for title, g, matrix in zip(("Before", "After"), grids, matrices, strict=True)
    ]
    payload = plots.mosaic(panels, encodings.load_input_image(), selection.get_current().pin.point, active=1)
    draw_mosaics(payload, key="positions.resized", triggers=("pin",))
    structures = [
        position_similarity.measure_structure(matrix, g) for matrix, g in zip(matrices, grids, strict=True)
    ]
    page.caption(captions.describe_resizing(grids, *structures))
    _draw_accuracy()
    page.drawers(
        "positions.resize",
        math=page.read_math(__file__),
        code=(vit.resize_positions, position_similarity.stretch_as_list),
    )


def _format_px(grid: tuple[int, int], patch_px: int) -> str:
    return format_size(join_size([side * patch_px for side in grid]))


def _draw_accuracy() -> None:
    st.markdown("**Accuracy at other image sizes, without fine-tuning**")
    entry = _load_accuracy()
    if entry is None:
        st.markdown(":gray[Accuracy was measured only for the included checkpoints at their last step.]")
        return
    accuracy = {"bicubic on the grid": entry["grid"], "as a list (bug)": entry["list"]}
    native_px = max(selection.get_model_choice().config.image_shape)  # stored only of square models
    draw_chart(
        plots.resize_figure(entry["sizes"], accuracy, entry["pictures"], native_px, selection.get_theme()),
        "positions.resize_accuracy",
    )
    page.caption(captions.describe_accuracy(entry, native_px))
    page.provenance(f"Measured {entry['measured']} at the last step with `{entry['command']}`.")


def _load_accuracy() -> dict[str, Any] | None:
    """Load the accuracies of exactly these weights; None if they were never measured or have changed."""
    choice = selection.get_model_choice()
    file = catalogue.CHECKPOINTS / ACCURACY_FILE
    if not file.is_file() or choice.path is None or not choice.key.startswith("checkpoint:"):
        return None
    stored = json.loads(file.read_text("utf-8"))
    entry = stored["models"].get(choice.path.stem)
    identity = catalogue.read_header(choice.path).identity
    if entry is None or resolve_identity(entry["digest"]) != identity:
        return None
    accuracy: dict[str, Any] = entry | {"command": stored["command"]}
    return accuracy
