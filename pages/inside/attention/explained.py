"""The methods' maps of a subject, computed once for a class, a fusion and a discard ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.shell.subject import Subject, probabilities
from pages.stores import cached
from vitviz.analysis import faithfulness
from vitviz.analysis.attention import Fusion
from vitviz.analysis.methods import method_maps
from vitviz.config import SwinConfig
from vitviz.models.loaded import LoadedModel
from vitviz.probe.capture import capture
from vitviz.probe.relevance import class_relevance, gradient_times_input, sum_by_patch

RANDOM_ORDERS = 6


@dataclass(frozen=True)
class Recipe:
    """What the maps depend on beside the subject; `target` is None where the model has no classes."""

    target: int | None
    fusion: Fusion
    discard: float


@dataclass(frozen=True, eq=False)
class Check:
    """Curves of every method and of random orders: (deletion, insertion), and the share of patches at each step."""

    fraction: np.ndarray
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    random: tuple[np.ndarray, np.ndarray]


def maps_of(model: LoadedModel, image: np.ndarray, recipe: Recipe) -> dict[str, np.ndarray]:
    """The maps of one prepared picture (C, H, W) that its model allows: one pass forward, one back for the class."""
    config, layout = model.config, model.model.layout(*image.shape[-2:])
    if isinstance(config, SwinConfig):
        if recipe.target is None:
            return {}
        pixels = gradient_times_input(model.model, image[None], np.array([recipe.target]))
        return {"input": np.clip(sum_by_patch(pixels, layout.patch_px)[0].astype(np.float64), 0, None)}
    attn = capture(model.model, image[None], record=("blocks.*.attn",)).attention()[:, 0]
    relevance = sums = None
    if recipe.target is not None:
        found = class_relevance(model.model, image[None], np.array([recipe.target]))
        relevance, sums = found.tokens[0], sum_by_patch(found.pixels, layout.patch_px)[0]
    return method_maps(
        attn,
        layout.prefix,
        config.readout,
        fusion=recipe.fusion,
        discard=recipe.discard,
        relevance=relevance,
        input_sums=sums,
    )


@cached.per_picture(shared=32, upload=8)
def _maps(
    digest: str, _model: LoadedModel, image: str, offset: cached.Offset, recipe: Recipe
) -> dict[str, np.ndarray]:
    return maps_of(_model, cached.prepared(image, _model.preparation, offset).input, recipe)


@cached.per_picture(shared=256, upload=64)
def _curve(
    digest: str, _model: LoadedModel, image: str, offset: cached.Offset, order: bytes, target: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(fraction, deletion, insertion) of one order of patches, float64 (patches,): one batched pass."""
    prepared = cached.prepared(image, _model.preparation, offset)
    layout = _model.model.layout(*prepared.input.shape[-2:])
    plan = faithfulness.schedule(np.frombuffer(order), min(16, layout.num_patches))
    shown = np.concatenate([plan.deletion, plan.insertion])
    blanked = faithfulness.blank_patches(prepared.input, shown, layout.grid)
    chances = probabilities(_model, capture(_model.model, blanked, record=False).logits)[:, target]
    deletion, insertion = faithfulness.curves(chances, len(plan.fraction) - 1, 1)
    return plan.fraction, deletion[0], insertion[0]


def maps(subject: Subject, recipe: Recipe, twin: bool = False) -> dict[str, np.ndarray]:
    """Method -> (patches,); `twin`: of the same shape with random weights, for the same class."""
    model = cached.untrained(subject.model) if twin else subject.model
    return _maps(model.digest, model, subject.image, subject.offset, recipe)


def check(subject: Subject, found: dict[str, np.ndarray], target: int) -> Check:
    """Deletion and insertion of every map and of random orders, each in one batched pass, with progress."""
    noise = faithfulness.random_orders(subject.layout.num_patches, RANDOM_ORDERS)
    orders = [*found.values(), *noise]
    results = []
    bar = st.progress(0.0, "Blanking patches, method by method …")
    for i, order in enumerate(orders):
        key = np.ascontiguousarray(order, dtype=np.float64).tobytes()
        model = subject.model
        results.append(_curve(model.digest, model, subject.image, subject.offset, key, target))
        bar.progress((i + 1) / len(orders), "Blanking patches, method by method …")
    bar.empty()
    count = len(found)
    random = tuple(np.stack([result[side] for result in results[count:]]) for side in (1, 2))
    return Check(
        results[0][0],
        {name: results[i][1:] for i, name in enumerate(found)},
        random,  # type: ignore[arg-type]
    )
