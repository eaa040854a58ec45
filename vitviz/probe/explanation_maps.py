"""Compute every explanation method's map of an image, and the class probability without patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.analysis import faithfulness
from vitviz.analysis.attention import Fusion
from vitviz.analysis.explanation_methods import method_maps
from vitviz.models.abilities import abilities
from vitviz.models.layer_order import heads_by_layer
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import FloatArray, capture
from vitviz.probe.relevance import class_relevance, gradient_times_input, sum_by_patch

MOST_STEPS = 16  # of a curve; one for each patch where there are fewer


@dataclass(frozen=True)
class Recipe:
    """Parameters of the maps besides model and image; `target` is None for a model without classes."""

    target: int | None
    fusion: Fusion
    discard: float


@dataclass(frozen=True, eq=False)
class OrderCurve:
    """A class's probability under deletion and insertion of patches in one order; (steps + 1,) each."""

    fraction: NDArray[np.floating[Any]]
    deletion: NDArray[np.floating[Any]]
    insertion: NDArray[np.floating[Any]]


def method_maps_of(model: LoadedModel, image: FloatArray, recipe: Recipe) -> dict[str, NDArray[np.float64]]:
    """Return the maps of one prepared image, from one forward and one backward pass.

    Args:
        image: (C, H, W).

    Returns:
        name of `vitviz.analysis.explanation_methods.METHODS` -> (patches,).
    """
    layout = model.layout(*image.shape[-2:])
    if not abilities(model.config).rollout:
        if recipe.target is None:
            return {}
        pixels = gradient_times_input(model.model, image[None], np.array([recipe.target]))
        return {"input": np.clip(sum_by_patch(pixels, layout.patch_px)[0].astype(np.float64), 0, None)}
    attn = capture(model.model, image[None], record=("blocks.*.attn",)).attention()[:, 0]
    relevance = sums = None
    if recipe.target is not None:
        class_maps = class_relevance(model.model, image[None], np.array([recipe.target]))
        relevance, sums = class_maps.tokens[0], sum_by_patch(class_maps.pixels, layout.patch_px)[0]
    return method_maps(
        attn,
        layout.prefix,
        model.vit.config.readout,
        fusion=recipe.fusion,
        discard=recipe.discard,
        relevance=relevance,
        input_sums=sums,
    )


def order_curve(
    model: LoadedModel, image: FloatArray, relevance: NDArray[np.float64], target: int
) -> OrderCurve:
    """Compute deletion and insertion of one map (Petsiuk et al. 2018), in one batched pass.

    Args:
        image: (C, H, W), prepared.
        relevance: (patches,); the highest is blanked, or shown, first.
    """
    layout = model.layout(*image.shape[-2:])
    plan = faithfulness.create_schedule(relevance, min(MOST_STEPS, layout.num_patches))
    shown = np.concatenate([plan.deletion, plan.insertion])
    blanked = faithfulness.blank_patches(image, shown, layout.grid)
    chances = model.probabilities(capture(model.model, blanked, record=False).logits)[:, target]
    return OrderCurve(plan.fraction, *chances.reshape(2, -1))


def predict_ablated(
    model: LoadedModel,
    image: FloatArray,
    heads: Sequence[tuple[int, int]],
    patches: Sequence[int],
    *,
    blanked: bool,
) -> NDArray[np.floating[Any]]:
    """Return the class probabilities without some heads and patches: one forward pass.

    Args:
        image: (C, H, W), prepared.
        heads: (layer, head), from 0, that add nothing.
        patches: in reading order, from 0.
        blanked: whether the patches are set to what the model reads as 0; else no token attends to them.

    Returns:
        (classes,).

    Raises:
        ValueError: if patches are to be hidden from a model that cannot hide them.
    """
    able, layout = abilities(model.config), model.layout(*image.shape[-2:])
    by_layer = heads_by_layer(model.config)
    masks = {"head_mask": torch.ones(len(by_layer), max(by_layer))}
    for layer, head in heads:
        masks["head_mask"][layer, head] = 0
    shown = np.ones(layout.num_patches, dtype=bool)
    shown[list(patches)] = False
    batch = image[None]
    if blanked:
        batch = faithfulness.blank_patches(image, shown[None], layout.grid)
    elif patches:
        if not able.hidden_patches:
            raise ValueError(able.hidden_patches.why_not)
        masks["token_mask"] = torch.from_numpy(shown)
    records = capture(model.model, batch, record=False, batch_size=1, **masks)
    return model.probabilities(records.logits[0])
