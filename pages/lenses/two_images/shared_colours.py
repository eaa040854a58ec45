"""Draw the tokens of two images as colours of the same principal components."""

from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.two_images import captions, pair_controls
from pages.lenses.two_images.image_pair import ColouredPair, ImagePair
from pages.stores import shared_cache
from pages.views.figures import draw_heat_grid
from vitviz.analysis import token_colours, token_similarity
from vitviz.data.datasets import default_pictures, find_note
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.heat_grid import Fact, GridStyle, HeatPanel, pack_heat_grid
from vitviz.probe.capture import limit_pools
from vitviz.probe.layers import stream_layer_outputs
from vitviz.text import plain

VIEW = "two_images.colours"
SET_IMAGES, LARGE_SET = 64, 8  # of a dataset that components are fitted on; the second for large models
OPAQUE, OVER = 255, 165
FITS = {"first": "this image", "both": "both", "set": "a dataset"}


def draw(pair: ImagePair, row: DeltaGenerator) -> None:
    with row:
        layer = pair_controls.choose_layer(pair)
        with page.options("two_images.colours"):
            fit = widgets.segmented(
                "two_images.fit",
                "Components fitted on",
                FITS,
                "both",
                help="With components fitted on both images or a dataset, a colour means the same in both images.",
            )
            over = widgets.toggle("two_images.over", "Overlay on the images", True)
            foreground = pair_controls.choose_foreground(pair, "off")
        pair_controls.draw_own_image()
    page.untrained_note(pair.model.trained_on)
    coloured = fit_pair(pair, layer, fit, foreground)
    draw_heat_grid(build_message(pair, layer, coloured, OVER if over else OPAQUE), key=VIEW)
    page.caption(captions.describe_colours(pair, layer, coloured) + foreground.describe())
    page.findings("two_images.colours")
    page.drawers(
        "two_images.colours",
        math=page.read_math(__file__),
        code=(token_colours.fit_components, token_colours.colour_tokens),
        call=lambda: pair.layers[layer].write_call(),
        numbers=partial(draw_numbers, pair, layer, coloured),
    )


def fit_pair(pair: ImagePair, layer: int, fit: str, foreground: pair_controls.Foreground) -> ColouredPair:
    """Fit the components of a layer on the first image, on both images or on a dataset.

    Only tokens of the foreground count, except in a dataset.
    """
    masks = tuple(image.foreground(foreground.method, foreground.share, layer) for image in pair.images)
    foreground_tokens = [image.tokens(layer)[mask] for image, mask in zip(pair.images, masks, strict=True)]
    if fit == "set":
        model = pair.model
        name = default_pictures(model.trained_on, model.preparation.in_chans)
        count = SET_IMAGES if pair.is_small else LARGE_SET
        components = _fit_dataset(model, name, count, layer)
        fitted_on = f"{count} test images of {plain(find_note(name).title)}"
    else:
        tokens = np.concatenate(foreground_tokens if fit == "both" else foreground_tokens[:1])
        fitted_on = ("both images" if fit == "both" else "this image") + (
            " (foreground only)" if foreground.method != "off" else ""
        )
        with limit_pools(1 if pair.is_small else None):
            components = token_colours.fit_components(tokens if len(tokens) > 1 else pair.first.flat(layer))
    first = pair.first
    brightness = first.prepared.shown.mean(axis=-1)[None, ..., None]
    components = token_colours.orient_by_brightness(
        components, first.flat(layer), token_colours.resample_grid(brightness, first.grid(layer)).ravel()
    )
    return ColouredPair(components, fitted_on, (masks[0], masks[1]))


@shared_cache.shared(max_entries=24, spinner="Fitting the components …")
def _fit_dataset(model: LoadedModel, name: str, count: int, layer: int) -> token_colours.ColourDirections:
    images = prepare_batch(shared_cache.load_dataset(name).test_images[:count], model.preparation)
    with limit_pools(1 if max(model.preparation.image_shape) <= 64 else None):
        tokens: list[token_similarity.FloatArray] = [
            outputs[layer].places.reshape(-1, outputs[layer].places.shape[-1])
            for outputs in stream_layer_outputs(model, images, 8)
        ]
        return token_colours.fit_components(np.concatenate(tokens))


def build_message(pair: ImagePair, layer: int, coloured: ColouredPair, alpha: int) -> bytes:
    """Pack both images with their colours; patches of the background are clear."""
    facts = [
        Fact("strongest direction (red)", 1),
        Fact("second (green)", 1),
        Fact("third (blue)", 1, " standard deviations"),
    ]
    spread = np.where(coloured.components.spread > 1e-12, coloured.components.spread, 1.0)
    panels: list[HeatPanel] = []
    for image, mask in zip(pair.images, coloured.foregrounds, strict=True):
        tokens = image.tokens(layer)
        colours = token_colours.colour_tokens(coloured.components, tokens)
        cells = np.concatenate([colours, np.where(mask, alpha, 0)[..., None].astype(np.uint8)], axis=-1)
        scores = (coloured.components.scores(tokens) / spread).reshape(-1, token_colours.COUNT).T
        values = np.where(mask.ravel(), scores, np.nan)
        note = "" if panels else captions.POINT
        panels.append(HeatPanel(image.title, image.grid(layer), facts, values, image.photo, cells, note=note))
    return pack_heat_grid(panels, GridStyle("equal"))


def draw_numbers(pair: ImagePair, layer: int, coloured: ColouredPair) -> None:
    columns: dict[str, list[object]] = {"image": [], "row": [], "column": [], "foreground": []}
    scores: list[NDArray[np.float64]] = []
    for number, (image, mask) in enumerate(zip(pair.images, coloured.foregrounds, strict=True), start=1):
        rows, cols = np.indices(image.grid(layer)).reshape(2, -1)
        columns["image"] += [number] * len(rows)
        columns["row"] += (rows + 1).tolist()
        columns["column"] += (cols + 1).tolist()
        columns["foreground"] += mask.ravel().tolist()
        scores.append(coloured.components.scores(image.flat(layer)))
    for name, column in zip(("red", "green", "blue"), np.concatenate(scores).T, strict=True):
        columns[name] = column.tolist()
    st.dataframe(columns, hide_index=True, height=240)
    downloads.csv("Scores (CSV)", columns, "two_images_components.csv", "two_images.csv.colours")
