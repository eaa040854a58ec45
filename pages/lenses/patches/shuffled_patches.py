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
    ShuffledPrediction,
    describe_shuffle,
    format_class,
    format_probability,
)
from pages.lenses.patches.embedded_image import EmbeddedImage
from pages.selection import selection
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


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """A model whose predictions are compared; `digest` distinguishes its weights in caches."""

    digest: str
    title: str
    note: str
    model: VisionTransformer


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
        share = widgets.slider("patches.shuffled", "Shuffled", 0, 100, 100, 5, format="%d %%")
        seed = widgets.number("patches.seed", "Seed", 0, 999, 0)
    order = patches.scrambled_order(len(image.embedding.tokens), share / 100, seed)
    predictions = [_predict(image, order, compared) for compared in list_compared_models(image)]
    bars = [_list_bars(image, prediction) for prediction in predictions]
    _mount_puzzle(plots.puzzle(image.pixels, order, image.patch_px, bars), key="patches.puzzle")
    moved = int((order != np.arange(len(order))).sum())
    page.caption(
        describe_shuffle(image, moved, predictions), describe_classes(image.model_choice, image.image_key)
    )


def list_compared_models(image: EmbeddedImage) -> list[ComparedModel]:
    """Return the model, the same weights without positions, and a model trained without them if available."""
    config = as_vit(image.config)
    if config.positions == "none":
        return [ComparedModel("", "Without positions", "unchanged model", image.vit)]
    # A second linear map of the pixels holds no position, so it is not called one.
    added = "the second map of the pixels" if config.positions == "pixels" else "positions"
    models = [
        ComparedModel("", f"With {added}", "unchanged model", image.vit),
        ComparedModel("", f"Without {added}", f"same weights, {added} removed", without_positions(image.vit)),
    ]
    if not (image.trained and image.original_image_size):
        return models
    training = (image.model_choice.trained_on, image.model_choice.preparation)
    for other in selection.list_models().values():
        if is_blind_twin(config, other.config) and (other.trained_on, other.preparation) == training:
            blind = shared_cache.load_model(other)
            models.append(ComparedModel(blind.digest, "Trained without positions", other.title, blind.vit))
            break
    return models


def _predict(image: EmbeddedImage, order: NDArray[np.int64], compared: ComparedModel) -> ShuffledPrediction:
    key = (*image.cache_key, compared.digest, compared.title, tuple(order.tolist()))
    before, after = _predict_cached(image.image_key, key, image.values, order, compared.model)
    return ShuffledPrediction(compared.title, compared.note, before, after)


@shared_cache.per_image(shared=64, upload=8)
def _predict_cached(
    image: str,
    key: tuple[Hashable, ...],
    _values: FloatArray,
    _order: NDArray[np.int64],
    _model: VisionTransformer,
) -> tuple[FloatArray, FloatArray]:
    return predict_shuffled(_model, _values, _order)


def _list_bars(image: EmbeddedImage, prediction: ShuffledPrediction) -> dict[str, Any]:
    top = np.argsort(-prediction.before, kind="stable")[:TOP_CLASSES]
    rows = [[format_class(image, i), float(prediction.before[i]), float(prediction.after[i])] for i in top]
    change = format_probability(prediction.change).replace("%", "points")
    note = f"{prediction.note} · largest change {change}"
    return {"title": prediction.title, "note": note, "rows": rows}
