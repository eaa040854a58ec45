"""Measure shift equivariance: does a layer's feature map move with the image?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.on_your_image import compared_models, robustness_results
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import shared_cache
from pages.views.figures import draw_chart, draw_heat_grid
from vitviz.analysis.equivariance import (
    equivariance_errors,
    liveliest_channel,
    move_and_stay,
    shift_map,
    unlikeness,
)
from vitviz.analysis.image_changes import describe_error, shift
from vitviz.csv_table import columns_of_rows
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.heat_grid import PanelRow, image_panel, map_panel, pack_heat_rows
from vitviz.plots.layers import LayerLine
from vitviz.plots.robustness import shift_figure
from vitviz.probe.layers import list_layers, stream_layer_outputs
from vitviz.probe.robustness import chances, inputs_of
from vitviz.text import join_words, percent, plain, plural

MOST_PX = 8
FIRST_PX = 6  # of the stored shifts, the one that separates the models most; a test checks it
DEPTHS = ("first", "middle", "last")
TITLES = ("Map of the image", "Map of the shifted image", "Difference")
MARGIN = 0.25
EXACT = 1e-4  # rounding error of sums over some thousand values


@dataclass(frozen=True, eq=False)
class ShiftedMaps:
    """One model's feature maps of an image and of its shifted copy.

    Attributes:
        maps: (2, rows, cols, D) of every layer.
        size_px: the side of the model's input.
        probabilities: (2, classes).
    """

    key: str
    name: str
    family: str
    titles: tuple[str, ...]
    maps: tuple[NDArray[np.float32], ...]
    size_px: int
    probabilities: NDArray[np.floating]

    def count_cells(self, layer: int, shift_px: int) -> float:
        """Convert a shift from px to cells of a layer's map."""
        columns: int = self.maps[layer].shape[2]
        return shift_px * columns / self.size_px

    def measure_differences(self, layer: int, shift_px: int, margin: float = 0.0) -> tuple[float, float]:
        """Return a layer's difference from the shifted and from the unshifted map."""
        before, after = self.maps[layer]
        return move_and_stay(before, after, self.count_cells(layer, shift_px), margin)

    def measure_staying(self, layer: int, shift_px: int) -> float:
        """Return 0 if a layer's map shifts with the image, 1 if it stays."""
        return equivariance_errors(*self.measure_differences(layer, shift_px))

    @property
    def changed_share(self) -> float:
        """The share of the probability that changes its class."""
        return float(np.abs(self.probabilities[0] - self.probabilities[1]).sum() / 2)


def draw() -> None:
    with page.row():
        shifting = st.container(width=240)
        with st.container(width="content"):
            depth = widgets.segmented(
                "on_picture.depth", "Drawn layer", DEPTHS, "middle", format_func=str.capitalize
            )
        compared = compared_models.choose_models()
    if compared is None:
        return
    most = min(MOST_PX, compared.input_px // 2)  # so that a map of two columns keeps one
    with shifting:
        shift_px = widgets.slider(
            "on_picture.shift_px", "Shift to the right", 1, most, min(FIRST_PX, most), format="%d px"
        )
    models = run_models(compared, shift_px)
    if not models:
        st.info("None of these models has layers with a spatial feature map.")
        return
    rows = [build_row(model, shift_px, depth) for model in models]
    rates = robustness_results.load_change_rates(compared, "shift", shift_px)
    stage = compared_models.draw_stage("shift")
    if _ask_model(models, shift_px, rates):
        with stage:
            _draw_shifted(rows, models, shift_px, rates)
    else:
        image = image_panel("Image", compared.crop.model_input, "model input")
        maps = (replace(row.panels[0], title=row.title, note=row.note) for row in rows)
        with stage:
            unshifted = PanelRow("Before the shift", "", (image, *maps))
            draw_heat_grid(pack_heat_rows([unshifted]), key="on_picture.moved")
    page.findings("on_your_picture.shift")
    page.drawers(
        "on_picture.translation",
        math=page.read_math(__file__),
        code=(move_and_stay, equivariance_errors, shift_map, unlikeness, shift),
        numbers=partial(draw_numbers, models, shift_px),
    )


def _ask_model(models: Sequence[ShiftedMaps], shift_px: int, rates: Mapping[str, float]) -> bool:
    """Ask which model's prediction changes most; return True if the shifted maps may be shown.

    Args:
        rates: the share of test images whose prediction changes, by key; if a model lacks it, the question is about
            this image.
    """
    over_many = all(model.key in rates for model in models)
    shares = {model.key: rates[model.key] if over_many else model.changed_share for model in models}
    moved, often = ("Test images shift", " often") if over_many else ("The image shifts", "")
    unit = "predictions change" if over_many else "probability changes class"
    question = prediction_gate.ask_highest(
        "on_picture.moves",
        tuple(shares),
        f"{moved} {shift_px} px to the right. Which model's prediction changes most{often}?",
        shares,
        lambda share: f"{percent(share)} of its {unit}",
        {model.key: plain(model.name) for model in models},
        leaders=robustness_results.find_change_leaders(shares) if over_many else (),
    )
    return question is None or question.is_answered()


def _draw_shifted(
    rows: Sequence[PanelRow], models: Sequence[ShiftedMaps], shift_px: int, rates: Mapping[str, float]
) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_heat_grid(pack_heat_rows(rows), key="on_picture.moved")
    with right:
        st.markdown("**Does each layer's map shift with the image?**")
        draw_chart(
            shift_figure(build_lines(models, shift_px), [m.family for m in models], selection.get_theme()),
            "on_picture.errors",
        )
        page.caption(describe_shift(models, shift_px))
        if sentences := describe_test_images(models, shift_px, rates):
            page.caption(sentences)
            page.provenance(robustness_results.describe_provenance())


def run_models(compared: compared_models.Comparison, shift_px: int) -> list[ShiftedMaps]:
    """Run the models that have layers on the image and on its shifted copy."""
    models = []
    for choice, step, name in zip(compared.choices, compared.steps, compared.names, strict=True):
        if abilities(choice.config).layers:
            model = shared_cache.load_model(choice, step)
            maps, probabilities = _run_model(model, compared.crop, shift_px)
            titles = tuple(layer.title for layer in list_layers(choice.config))
            shown = ShiftedMaps(
                choice.key,
                name,
                choice.config.family,
                titles,
                maps,
                size_px=compared.input_px,
                probabilities=probabilities,
            )
            models.append(shown)
    return models


@shared_cache.per_image(shared=40, upload=16)
def _run_model(
    model: LoadedModel, crop: compared_models.ImageCrop, shift_px: int
) -> tuple[tuple[NDArray[np.float32], ...], NDArray[np.floating]]:
    """Return (2, rows, cols, D) of every layer, and (2, classes) probabilities."""
    pair = np.stack([crop.model_input, shift(crop.model_input, shift_px)])
    (layers,) = stream_layer_outputs(model, inputs_of(model, pair), 2)
    return tuple(layer.places for layer in layers), chances(model, pair)


def build_row(model: ShiftedMaps, shift_px: int, depth: str) -> PanelRow:
    """Return the drawn layer's most varied channel before and after the shift, and the difference."""
    last = len(model.maps) - 1
    layer = {"first": 0, "middle": last // 2, "last": last}[depth]
    before, after = model.maps[layer]
    channel = liveliest_channel(before)
    cells = model.count_cells(layer, shift_px)
    first, expected = int(np.ceil(cells)), shift_map(before, cells)
    difference = np.zeros(after.shape[:2], np.float32)
    difference[:, first:] = (after[:, first:] - expected)[..., channel]
    middle = float(before[..., channel].mean())
    most = float(np.abs(before[..., channel] - middle).max()) or 1.0
    size = "{} × {}".format(*before.shape[:2])
    moving, unmoved = model.measure_differences(layer, shift_px)
    maps = (before[..., channel] - middle, after[..., channel] - middle, difference)
    notes = (
        f"{size} positions",
        f"{cells:.2g} cell{'' if cells == 1 else 's'} to the right",
        f"all channels: {moving:.2f}; from the unshifted map: {unmoved:.2f}",
    )
    panels = tuple(
        map_panel(title, values, note, "signed", most)
        for title, values, note in zip(TITLES, maps, notes, strict=True)
    )
    return PanelRow(model.name, f"{model.titles[layer]}, channel {channel + 1}", panels)


def build_lines(models: Sequence[ShiftedMaps], shift_px: int) -> list[LayerLine]:
    """Return how far the map of every layer of each model stays."""
    stays = [[m.measure_staying(layer, shift_px) for layer in range(len(m.titles))] for m in models]
    return [LayerLine(m.name, m.titles, stays[place], place) for place, m in enumerate(models)]


def describe_shift(models: Sequence[ShiftedMaps], shift_px: int) -> str:
    """Return a caption on the equivariance of first and last layers and on the predictions."""
    exact = [model.name for model in models if model.measure_differences(0, shift_px, MARGIN)[0] < EXACT]
    first = (
        f"Away from the border, the first map of {join_words([plain(name) for name in exact])} is exactly equivariant."
        if exact
        else "No model's first map is exactly equivariant, not even away from the border."
    )
    last = "; ".join(
        f"{plain(model.name)} {model.measure_staying(len(model.maps) - 1, shift_px):.2f}" for model in models
    )
    shares = "; ".join(f"{plain(model.name)} {percent(model.changed_share)}" for model in models)
    return (
        f"Shift of {shift_px} px. {first} Last layer (0: shifts with the image, 1: stays): {last}. Probability that"
        f" changes its class: {shares}."
    )


def describe_test_images(models: Sequence[ShiftedMaps], shift_px: int, rates: Mapping[str, float]) -> str:
    """Return a caption on the stored test images whose prediction changes; '' if none are stored."""
    stored = robustness_results.load_robustness()
    shares = {model.name: rates[model.key] for model in models if model.key in rates}
    if stored is None or not shares:
        return ""
    count = int(stored.settings["pictures"])
    by_model = "; ".join(f"{plain(name)} {percent(share)}" for name, share in shares.items())
    return (
        f"Of {count:,} test images shifted by {shift_px} px, the prediction changes on: {by_model}."
        f" {describe_error(np.array([*shares.values()]), count)}"
    )


def draw_numbers(models: Sequence[ShiftedMaps], shift_px: int) -> None:
    rows = [
        (
            model.name,
            title,
            *model.measure_differences(layer, shift_px),
            *model.measure_differences(layer, shift_px, MARGIN),
        )
        for model in models
        for layer, title in enumerate(model.titles)
    ]
    names = (
        "model",
        "layer",
        "from shifted map",
        "from unshifted map",
        "from shifted map, inner part",
        "from unshifted map, inner part",
    )
    columns = columns_of_rows(names, rows)
    st.dataframe(columns, hide_index=True, height=240)
    st.caption(f"Shift of {plural(shift_px, 'px', 'px')} to the right.")
    downloads.csv("Differences (CSV)", columns, "equivariance.csv", "on_picture.errors.csv")
