"""Shuffled patches: class probabilities with and without position information."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.patches.captions import (
    ShuffledProbabilities,
    describe_shuffle,
    format_class,
    format_probability,
)
from pages.lenses.patches.embedded_image import EmbeddedImage
from pages.selection import model_weights, selection
from pages.selection.substitutes import describe_classes
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.analysis import patches
from vitviz.lessons import lesson, model_measures
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.vit import VisionTransformer
from vitviz.plots import patches as plots
from vitviz.probe.embedding import FloatArray, is_blind_twin, predict_shuffled, without_positions

_mount_puzzle = register(__file__, "patches_puzzle", "patches_pair")
TOP_CLASSES = 5
STEP = 5  # of the slider, in percent


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """A model whose predictions are compared.

    `digest` distinguishes its weights in caches; `weights` is their address for the browser's engine, '' without one.
    """

    digest: str
    title: str
    note: str
    model: VisionTransformer
    weights: str


def draw(image: EmbeddedImage) -> None:
    able = abilities(image.config)
    lacking = able.class_head.why_not or able.positions.why_not
    if lacking:
        st.markdown(f":gray[{lacking} Choose a ViT with a classifier head.]")
        return
    _draw_shuffled(image)
    page.drawers(
        "patches.puzzle",
        math=page.read_math(__file__),
        code=(patches.scrambled_order, predict_shuffled, without_positions),
        ask=lesson.Question(
            "All patches are shuffled. Does the selected model's prediction change?",
            model_measures.ShuffledPrediction(),
        ),
    )


@st.fragment
def _draw_shuffled(image: EmbeddedImage) -> None:
    with page.row():
        share = widgets.slider("patches.shuffled", "Shuffled", 0, 100, 100, STEP, format="%d %%")
        seed = widgets.number("patches.seed", "Seed", 0, 999, 0)
    count = len(image.embedding.tokens)
    order = patches.scrambled_order(count, share / 100, seed)
    compared = list_compared_models(image)
    predictions = [_predict(image, order, each) for each in compared]
    bars = [_list_bars(image, *pair) for pair in zip(compared, predictions, strict=True)]
    steps = plots.ShuffleSteps(image.values, patches.moving_order(count, seed), _count_moved(count))
    _mount_puzzle(plots.puzzle(image.pixels, order, image.patch_px, bars, steps), key="patches.puzzle")
    moved = int((order != np.arange(len(order))).sum())
    page.caption(
        describe_shuffle(image, moved, predictions), describe_classes(image.model_choice, image.image_key)
    )


def _count_moved(count: int) -> list[int]:
    """Return how many of the patches move at every position of the slider."""
    return [patches.count_moved(count, percent / 100) for percent in range(0, 101, STEP)]


def list_compared_models(image: EmbeddedImage) -> list[ComparedModel]:
    """Return the model, the same weights without positions, and a model trained without them if available."""
    config, choice = as_vit(image.config), image.model_choice
    own = image.original_patch_size and image.original_image_size
    weights = model_weights.publish(choice, selection.get_current().step) if own else ""
    if config.positions == "none":
        return [ComparedModel("", "Without positions", "unchanged model", image.vit, weights)]
    # A second linear map of the pixels holds no position, so it is not called one.
    added = "the second map of the pixels" if config.positions == "pixels" else "positions"
    models = [
        ComparedModel("", f"With {added}", "unchanged model", image.vit, weights),
        ComparedModel(
            "", f"Without {added}", f"same weights, {added} removed", without_positions(image.vit), weights
        ),
    ]
    if not (image.trained and image.original_image_size):
        return models
    training = (choice.trained_on, choice.preparation)
    for other in selection.list_models().values():
        if is_blind_twin(config, other.config) and (other.trained_on, other.preparation) == training:
            blind = shared_cache.load_model(other)
            weights = model_weights.publish(other, other.last_step)
            models.append(
                ComparedModel(blind.digest, "Trained without positions", other.title, blind.vit, weights)
            )
            break
    return models


def _predict(
    image: EmbeddedImage, order: NDArray[np.int64], compared: ComparedModel
) -> ShuffledProbabilities:
    key = (*image.cache_key, compared.digest, compared.title, tuple(order.tolist()))
    before, after = _predict_cached(image.image_key, key, image.values, order, compared.model)
    return ShuffledProbabilities(compared.title, compared.note, before, after)


@shared_cache.per_image(shared=64, upload=8)
def _predict_cached(
    image: str,
    key: tuple[Hashable, ...],
    _values: FloatArray,
    _order: NDArray[np.int64],
    _model: VisionTransformer,
) -> tuple[FloatArray, FloatArray]:
    return predict_shuffled(_model, _values, _order)


def _list_bars(
    image: EmbeddedImage, compared: ComparedModel, prediction: ShuffledProbabilities
) -> dict[str, Any]:
    top = np.argsort(-prediction.before, kind="stable")[:TOP_CLASSES]
    rows = [[format_class(image, i), float(prediction.before[i]), float(prediction.after[i])] for i in top]
    change = format_probability(prediction.change).replace("%", "points")
    return {
        "title": prediction.title,
        "note": prediction.note,
        "change": change,
        "rows": rows,
        "classes": top.tolist(),
        "weights": compared.weights,
        "positions": compared.model.config.positions != "none",
    }
