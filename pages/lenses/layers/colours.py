"""Draw the tokens of two models as colours over the image, layer by layer."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.layers import dataset_task, layer_controls
from pages.lenses.layers.dataset_task import ImageSubset
from pages.selection.subject import Subject
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis import token_colours
from vitviz.analysis.token_colours import ColourDirections, FloatArray
from vitviz.csv_table import columns_of_rows
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots
from vitviz.probe.capture import limit_pools
from vitviz.text import join_words, percent, signed

_view = register(__file__, "colours", "../../views/heat_grid", "panels")
VIEW = "layers.colours"
MOST = 64  # images that components are fitted over
ROUNDED = 9  # digits of a share
VEIL = 0.62  # opacity of the colours over the image


@dataclass(frozen=True, eq=False)
class ColouredLayers:
    """One model's layers with their principal components."""

    model: Subject
    layers: Sequence[FloatArray]  # (1, rows, cols, D) each
    components: Sequence[ColourDirections]

    @property
    def explained(self) -> FloatArray:
        """(layers,): the share of the variance explained by three components, without rounding errors."""
        return np.round([components.shares.sum() for components in self.components], ROUNDED)

    @property
    def is_level(self) -> bool:
        """Return True if the share is equal in all layers, as with four tokens, which span three directions."""
        return bool((self.explained == self.explained[0]).all())


@shared_cache.per_image(shared=24, upload=6)
def _correlate_layers(model: Subject, fitted_over: str, _coloured: ColouredLayers) -> list[float]:
    """Return the mean correlation between each layer's colours and the next; `fitted_over` is a cache key."""
    correlations = []
    scores = [c.scores(x) for c, x in zip(_coloured.components, _coloured.layers, strict=True)]
    for before, after in zip(scores, scores[1:], strict=False):
        grid = min(before.shape[1:3], after.shape[1:3])
        pair = (
            token_colours.resample_grid(x, grid).reshape(-1, token_colours.COUNT) for x in (before, after)
        )
        correlations.append(token_colours.mean_correlation(*pair))
    return correlations


def draw(current: Subject) -> None:
    with page.row():
        other = layer_controls.choose_other(current)
        with page.options("layers.colours"):
            fit = widgets.segmented(
                "layers.fit",
                "Components fitted on",
                {"picture": "this image", "set": "a dataset"},
                help="With components fitted on a dataset, colours are comparable between images.",
            )
            transparent = widgets.toggle("layers.over", "Overlay on the image", True)
            subset = dataset_task.choose_images((current, other), MOST, MOST) if fit == "set" else None
    coloured = colour_layers((current, other), subset)
    if coloured is None:
        return
    stage = st.container()  # the picture stands above its question
    revealed = _ask_best_layer(coloured[0])
    with stage:
        layer_controls.draw_layers(
            _view,
            VIEW,
            partial(build_message, coloured, transparent, revealed),
            [len(model.layers) for model in coloured],
        )
    page.caption(describe_colours(coloured, subset, revealed))
    page.findings("layers.colours")
    page.drawers(
        "layers.colours",
        math=page.read_math(__file__),
        code=(token_colours.fit_components, token_colours.match_previous),
        numbers=partial(draw_numbers, coloured) if revealed else None,
    )


def colour_layers(pair: Sequence[Subject], subset: ImageSubset | None) -> list[ColouredLayers] | None:
    """Return both models' components, of the image or of a subset; None while those are computed."""
    layers = [[layer.places for layer in layer_controls.read_layers(model)] for model in pair]
    if subset is None:
        components = [_fit_image(model) for model in pair]
    else:
        fitted = dataset_task.measure_models("components", pair, subset, fit_subset, "Fitting the components")
        if fitted is None:
            return None
        components = fitted
    return [ColouredLayers(*parts) for parts in zip(pair, layers, components, strict=True)]


@shared_cache.per_image(shared=24, upload=6)
def _fit_image(model: Subject) -> list[ColourDirections]:
    with limit_pools(1):
        return token_colours.fit_layers(
            [layer.places for layer in layer_controls.read_layers(model)],
            model.prepared.shown[None].mean(axis=-1),
        )


def fit_subset(model: LoadedModel, subset: ImageSubset) -> Generator[float, None, list[ColourDirections]]:
    """Fit each layer's components over the tokens of a subset, yielding the completed share."""
    layers = yield from dataset_task.collect_layers(model, subset, lambda layer: layer.places, 0.9)
    tokens = [np.concatenate(batches) for batches in layers]
    return token_colours.fit_layers(tokens, subset.pixels.mean(axis=-1))


def build_message(
    coloured: Sequence[ColouredLayers], transparent: bool, revealed: bool, chosen: int
) -> bytes:
    """Pack every layer's colours for the browser, with the explained variance once it may be revealed."""
    panels = [
        plots.LayerPanel(
            row,
            layer.title,
            (tokens.shape[1], tokens.shape[2]),
            token_colours.colour_tokens(components, tokens[0]),
            note=plots.share_note(components) if revealed else "",
            more=plots.colour_panels(components, shares=revealed),
        )
        for row, model in enumerate(coloured)
        for layer, tokens, components in zip(model.model.layers, model.layers, model.components, strict=True)
    ]
    rows = layer_controls.build_rows(
        [model.model for model in coloured], chosen, veil=VEIL if transparent else 1.0
    )
    return plots.panels_view(rows, panels)


def describe_colours(coloured: Sequence[ColouredLayers], subset: ImageSubset | None, revealed: bool) -> str:
    """Return a caption on the explained variance, once revealed, and on the largest change between layers."""
    images = "this image alone" if subset is None else subset.title
    sentences = []
    for model in coloured:
        layers = model.model.layers
        parts = [_describe_variance(model)] if revealed else []
        correlations = _correlate_layers(model.model, "picture" if subset is None else str(subset), model)
        if correlations:
            at = int(np.argmin(correlations))
            parts.append(
                f"the mean correlation between the colours of neighbouring layers falls to {signed(correlations[at])},"
                f" from {layers[at].phrase} to {layers[at + 1].phrase}"
            )
        if parts:
            sentences.append(f"{model.model.safe_title}: {'; '.join(parts)}.")
    condition = (
        f"Components are fitted on {images}, and their values are in standard deviations; colours are comparable"
        " between layers, not models."
    )
    return " ".join((*sentences, condition))


def _describe_variance(coloured: ColouredLayers) -> str:
    explained, layers = coloured.explained, coloured.model.layers
    if coloured.is_level:
        why = ", because so few tokens span at most three directions" if explained[0] == 1 else ""
        return f"three components explain {percent(explained[0], 0)} of the variance in every layer{why}"
    return (
        f"three components explain {percent(explained[0], 0)} of the variance in {layers[0].phrase} and"
        f" {percent(explained[-1], 0)} in {layers[-1].phrase}"
    )


def _ask_best_layer(coloured: ColouredLayers) -> bool:
    """Ask for the layer with most explained variance, unless all are level; return True if it may be shown."""
    if coloured.is_level:
        return True
    explained, layers = coloured.explained, coloured.model.layers
    layer_options = layer_controls.LayerOptions(layers)

    best, least = np.flatnonzero(explained == explained.max()).tolist(), int(explained.argmin())
    answer = layer_options.find_option(
        best,
        f"Three components explain {percent(explained.max())} of the variance in"
        f" {join_words([layers[at].phrase for at in best])}, and least in {layers[least].phrase}:"
        f" {percent(explained[least])}.",
    )
    prompt = (
        f"In which layer of {coloured.model.title} do three components explain the largest share of the tokens'"
        " variance?"
    )
    return layer_controls.ask_before_reveal("layers.colours_guess", prompt, layer_options.options, answer)


def draw_numbers(coloured: Sequence[ColouredLayers]) -> None:
    rows = [
        (model.model.title, layer.title, *map(float, components.shares))
        for model in coloured
        for layer, components in zip(model.model.layers, model.components, strict=True)
    ]
    columns = columns_of_rows(("model", "layer", "red", "green", "blue"), rows)
    st.dataframe(columns, hide_index=True)
    downloads.csv("Explained variance (CSV)", columns, "layers_components.csv", "layers.csv.colours")
