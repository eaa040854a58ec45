"""Draw the cosine similarity of one token to all others, layer by layer, on the image."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.layers import layer_controls
from pages.selection import selection
from pages.selection.subject import Subject, name_token
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis import token_similarity as analysis
from vitviz.analysis.token_colours import resample_grid, shrink_grid
from vitviz.csv_table import columns_of_rows
from vitviz.lessons.question_kinds import MeasuredAnswer
from vitviz.plots import layers as plots
from vitviz.probe.capture import limit_pools
from vitviz.probe.layers import LayerOutput
from vitviz.text import signed

_view = register(__file__, "token_similarity", "../../views/heat_grid", "panels")
VIEW = "layers.similar"
MAX_SIDE = 16  # of a grid: larger grids are averaged first
MOST_COSINES = 300_000  # between tokens, two bytes each; above this, only the pinned token's are sent
POOLED = "mean of the map"
TRENDS = ("it increases", "it stays about the same", "it decreases")  # of the neighbours' extra similarity
MIN_CHANGE = 0.05  # smaller changes of a cosine count as none


@dataclass(frozen=True, eq=False)
class LayerCosines:
    """One model's cosines in every layer.

    Attributes:
        prefix: names of the prefix tokens, or the mean of the map.
        grids: (rows, cols) of every layer.
        cosines: (P + N, N) of every layer, from prefix tokens and patches to patches.
    """

    model: Subject
    prefix: tuple[str, ...]
    grids: Sequence[tuple[int, int]]
    cosines: Sequence[NDArray[np.float64]]

    def between_places(self, layer: int) -> NDArray[np.float64]:
        """Return (N, N), the cosines between patches."""
        return self.cosines[layer][len(self.prefix) :]

    @cached_property
    def leads(self) -> list[float]:
        """(layers,): the mean cosine of neighbouring patches minus that of other pairs."""
        return [
            analysis.neighbour_contrast(self.between_places(i), grid) for i, grid in enumerate(self.grids)
        ]


def draw(current: Subject) -> None:
    with page.row():
        other = layer_controls.choose_other(current)
        with st.container(width="content"):
            centred = widgets.toggle(
                "layers.centred",
                "Subtract the mean token",
                True,
                help="Removes the component that all tokens of a layer share.",
            )
    pair = [compute_cosines(model, centred) for model in (current, other)]
    selected = layer_controls.draw_layers(
        _view, VIEW, partial(build_message, pair), [len(model.grids) for model in pair]
    )
    revealed = _ask_trend(pair[0])
    leads = [describe_leads(pair)] if revealed else []
    conditions = ["Mean token subtracted."] if centred else []
    page.caption(" ".join((*leads, describe_similarity(pair, selected), *conditions)))
    page.findings("layers.similar")
    page.drawers(
        "layers.similar",
        math=page.read_math(__file__),
        code=(analysis.token_cosines, analysis.neighbour_contrast),
        numbers=partial(draw_numbers, pair) if revealed else None,
    )


@shared_cache.per_image(shared=16, upload=4)
def compute_cosines(model: Subject, centred: bool) -> LayerCosines:
    """Return the cosines of every layer on the selected image, from the cache."""
    grids, cosines = [], []
    with limit_pools(1):
        for layer in layer_controls.read_layers(model):
            grid, queries, places = _split_tokens(layer)
            grids.append(grid)
            cosines.append(analysis.token_cosines(queries, places, without_mean=centred))
    return LayerCosines(model, model.layout.prefix or (POOLED,), grids, cosines)


def _split_tokens(layer: LayerOutput) -> tuple[tuple[int, int], NDArray[np.float64], NDArray[np.float64]]:
    """Return the grid, the queries (P + N, D), and the patches (N, D) of one image.

    A model without prefix tokens has the mean of its map as a query instead.
    """
    rows, cols = shrink_grid(layer.grid, MAX_SIDE)
    maps = layer.places if (rows, cols) == layer.grid else resample_grid(layer.places, (rows, cols))
    places = np.asarray(maps, np.float64).reshape(rows * cols, -1)
    prefix = layer.prefix[0] if layer.prefix.shape[1] else layer.mean
    return (rows, cols), np.concatenate([prefix, places]), places


def build_message(pair: Sequence[LayerCosines], selected: int) -> bytes:
    """Pack every layer's cosines for the browser: of all tokens, or of the pinned one if they are too many."""
    sends_all = sum(cosines.size for model in pair for cosines in model.cosines) <= MOST_COSINES
    panels = []
    for row, model in enumerate(pair):
        for layer, grid, cosines in zip(model.model.layers, model.grids, model.cosines, strict=True):
            sent = cosines if sends_all else cosines[[_find_query(model, grid)]]
            panels.append(
                plots.LayerPanel(row, layer.title, grid, plots.cosine_codes(sent), prefix=model.prefix)
            )
    named = tuple(name for name in pair[0].prefix if name != POOLED)
    rows = layer_controls.build_rows([model.model for model in pair], selected, prefix=named)
    return plots.panels_view(rows, panels)


def _find_query(model: LayerCosines, grid: tuple[int, int]) -> int:
    """Return the pinned token's row; 0 (the first prefix token or the map's mean) if the model lacks it."""
    pin = selection.get_current().pin
    if pin.place is None:
        return model.prefix.index(pin.prefix) if pin.prefix in model.prefix else 0
    return len(model.prefix) + pin.cell(grid)


def describe_similarity(pair: Sequence[LayerCosines], selected: int) -> str:
    """Return a caption on the patch most similar to the pinned token in the selected layer."""
    row = 0 if selected < len(pair[0].grids) else 1
    model, layer = pair[row], selected - row * len(pair[0].grids)
    grid = model.grids[layer]
    query = _find_query(model, grid)
    cosines = model.cosines[layer][query].copy()
    patch = query - len(model.prefix)
    if patch >= 0:
        cosines[patch] = -np.inf
    best = int(cosines.argmax())
    median = float(np.median(model.cosines[layer][query]))
    return (
        f"In {model.model.layers[layer].phrase} of {model.model.safe_title}, {_name_query(model, query, grid)} is most"
        f" similar to row {best // grid[1] + 1}, column {best % grid[1] + 1} (cosine {signed(cosines[best])}; median"
        f" over all patches {signed(median)})."
    )


def describe_leads(pair: Sequence[LayerCosines]) -> str:
    """Return a caption on the similarity of neighbouring patches in first and last layers."""
    leads = "; ".join(f"{_format_leads(model)} ({model.model.safe_title})" for model in pair)
    return (
        f"On this image the cosine similarity of neighbouring patches exceeds that of other pairs by {leads}."
    )


def _format_leads(model: LayerCosines) -> str:
    layers = model.model.layers
    return (
        f"{signed(model.leads[0])} in {layers[0].phrase} and {signed(model.leads[-1])} in {layers[-1].phrase}"
    )


def _name_query(model: LayerCosines, query: int, grid: tuple[int, int]) -> str:
    if query >= len(model.prefix):
        row, col = divmod(query - len(model.prefix), grid[1])
        return f"the patch in row {row + 1}, column {col + 1}"
    return name_token(model.model.layout, query) if model.model.layout.prefix else f"the {POOLED}"


def _ask_trend(model: LayerCosines) -> bool:
    """Ask how the similarity of neighbours changes with depth; return True if it may be shown."""
    answer = MeasuredAnswer(
        classify_trend(model.leads),
        f"Difference in cosine: {_format_leads(model)}; a change below {MIN_CHANGE} counts as none.",
    )
    prompt = (
        "On this image, neighbouring patches are more similar than others. How does this difference change from the"
        f" first to the last layer of {model.model.title}?"
    )
    return layer_controls.ask_before_reveal("layers.token_guess", prompt, TRENDS, answer)


def classify_trend(leads: Sequence[float]) -> int:
    """Return the index in `TRENDS` of the change from first to last layer."""
    change = leads[-1] - leads[0]
    return 1 if abs(change) < MIN_CHANGE else 0 if change > 0 else 2


def draw_numbers(pair: Sequence[LayerCosines]) -> None:
    rows = [
        (model.model.title, layer.title, lead, float(np.median(model.between_places(i))))
        for model in pair
        for i, (layer, lead) in enumerate(zip(model.model.layers, model.leads, strict=True))
    ]
    columns = columns_of_rows(("model", "layer", "neighbours minus others", "median cosine"), rows)
    st.dataframe(columns, hide_index=True)
    downloads.csv("Similarity by layer (CSV)", columns, "layers_similarity.csv", "layers.csv.similar")
