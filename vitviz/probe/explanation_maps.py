"""Compute every explanation method's map of an image, relevance by gradients, and the class without patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.analysis import faithfulness
from vitviz.analysis.attention import Fusion
from vitviz.analysis.explanation_methods import method_maps
from vitviz.devices import make_input
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import heads_by_layer
from vitviz.models.vit import VisionTransformer
from vitviz.probe.attention_lrp import attention_relevance
from vitviz.probe.capture import FloatArray, as_array, capture, limit_threads

MOST_STEPS = 16  # of a curve; one for each patch where there are fewer
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """Parameters of the maps besides model and image.

    `target` is None for a model without classes; `from_layer`, from 0, is the first layer of methods that use several.
    """

    target: int | None
    fusion: Fusion
    discard: float
    from_layer: int = 0


@dataclass(frozen=True, eq=False)
class OrderCurve:
    """A class's probability under deletion and insertion of patches in one order; (steps + 1,) each."""

    fraction: NDArray[np.floating[Any]]
    deletion: NDArray[np.floating[Any]]
    insertion: NDArray[np.floating[Any]]


def method_maps_of(model: LoadedModel, image: FloatArray, recipe: Recipe) -> dict[str, NDArray[np.float64]]:
    """Return the maps of one prepared image, from one forward and one backward pass, and one of each for AttnLRP.

    Args:
        image: (C, H, W).

    Returns:
        name of `vitviz.analysis.explanation_methods.METHODS` -> (patches,).
    """
    with limit_threads(image):
        return _compute_maps(model, image, recipe)


def _compute_maps(model: LoadedModel, image: FloatArray, recipe: Recipe) -> dict[str, NDArray[np.float64]]:
    layout = model.layout(*image.shape[-2:])
    if not abilities(model.config).rollout:
        if recipe.target is None:
            return {}
        pixels = gradient_times_input(model.model, image[None], np.array([recipe.target]))
        return {"input": np.clip(sum_by_patch(pixels, layout.patch_px)[0].astype(np.float64), 0, None)}
    attn = capture(model.model, image[None], record=("blocks.*.attn",)).attention()[:, 0]
    of_class: dict[str, FloatArray] = {}
    if recipe.target is not None:
        target = np.array([recipe.target])
        class_maps = class_relevance(model.vit, image[None], target, recipe.from_layer)
        of_class = {
            "relevance": class_maps.tokens[0],
            "sensitivity": class_maps.sensitivity[0],
            "token_relevance": attention_relevance(model.vit, image[None], target, recipe.from_layer)[0],
            "input_sums": sum_by_patch(class_maps.pixels, layout.patch_px)[0],
        }
    return method_maps(
        attn,
        layout.prefix,
        model.vit.config.readout,
        fusion=recipe.fusion,
        discard=recipe.discard,
        from_layer=recipe.from_layer,
        **of_class,
    )


def order_curve(
    model: LoadedModel,
    image: FloatArray,
    relevance: NDArray[np.float64],
    target: int,
    fill: str = "colour",
) -> OrderCurve:
    """Compute deletion and insertion of one map (Petsiuk et al. 2018), in one batched pass.

    Args:
        image: (C, H, W), prepared.
        relevance: (patches,); the highest is blanked, or shown, first.
        fill: a name of `vitviz.analysis.faithfulness.FILLS`.
    """
    layout = model.layout(*image.shape[-2:])
    plan = faithfulness.create_schedule(relevance, min(MOST_STEPS, layout.num_patches))
    shown = np.concatenate([plan.deletion, plan.insertion])
    blanked = faithfulness.blank_patches(image, shown, layout.grid, fill)
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


@dataclass(frozen=True, eq=False)
class Relevance:
    """The attention and gradients of one backward pass, for each image and its class.

    `tokens` (B, query, key) is R of the gradient-weighted rollout; `sensitivity` (B, keys) is LeGrad before its scale;
    `pixels` (B, C, H, W) is gradient x input; `logits` (B, classes) are those of the pass.
    """

    tokens: FloatArray
    sensitivity: FloatArray
    pixels: FloatArray
    logits: FloatArray


def gradient_rollout(attention: list[Tensor], gradients: list[Tensor]) -> Tensor:
    """Compute R <- R + mean_h((dA * A)^+) R, R_0 = I, first layer first (Chefer et al. 2021, bi-modal paper, eq. 5, 6).

    Args:
        attention: per layer, first layer first, (B, heads, query, key).
        gradients: of the class score, in the same order: each layer's gradient meets its own attention.

    Returns:
        (B, query, key).
    """
    first = attention[0]
    relevance = torch.eye(first.shape[-1], dtype=first.dtype, device=first.device).expand(
        first.shape[0], -1, -1
    )
    for attn, gradient in zip(attention, gradients, strict=True):
        weighted = (gradient * attn).clamp(min=0).mean(dim=1)
        relevance = relevance + weighted @ relevance
    return relevance


def _scores(
    model: nn.Module, images: FloatArray, classes: IntArray, names: tuple[str, ...]
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Return (input with gradient, class scores, record); call it with gradients enabled."""
    x = make_input(model, images).requires_grad_()
    logits, record = model(x, record=names)
    return x, logits, record


def _own_score(logits: Tensor, classes: IntArray) -> Tensor:
    """Return the sum of the images' class scores; images do not interact, so each gradient belongs to one image."""
    return logits.gather(1, torch.from_numpy(classes).to(logits.device)[:, None]).sum()


def gradient_times_input(model: nn.Module, images: FloatArray, classes: IntArray) -> FloatArray:
    """Return x * dy_c/dx of any model (Shrikumar et al. 2016), (B, C, H, W)."""
    with torch.enable_grad():
        x, logits, _ = _scores(model, images, classes, ("logits",))
        (of_input,) = torch.autograd.grad(_own_score(logits, classes), [x])
    return np.asarray(as_array(of_input * x.detach()), dtype=np.float32)


def class_relevance(
    model: nn.Module, images: FloatArray, classes: IntArray, from_layer: int = 0
) -> Relevance:
    """Return gradient-weighted rollout, LeGrad and gradient x input of one class per image, in one backward pass.

    LeGrad's gradients are those of each layer's own score; each needs the backward pass of that layer alone.
    The model stays frozen: the gradient starts at the input, and reaches the attention on its way.

    Args:
        images: (B, C, H, W), prepared.
        classes: (B,), index of the class whose score is explained.
        from_layer: from 0, the first layer whose attention counts.

    Raises:
        ValueError: if the model records no block's attention.
    """
    with torch.enable_grad():
        x, scores, record = _scores(model, images, classes, ("blocks.*.attn", "blocks.?", "blocks.??"))
        names = sorted(
            (name for name in record if name.endswith(".attn")), key=lambda name: int(name.split(".")[1])
        )[from_layer:]
        if not names:
            raise ValueError("the model records no 'blocks.*.attn'; gradient-weighted rollout needs it")
        assert isinstance(model, VisionTransformer)
        attention = [record[name] for name in names]
        own = [
            _own_score(model.readout(model.norm(record[name.removesuffix(".attn")])), classes)
            for name in names
        ]
        sensitivity = [
            torch.autograd.grad(score, [attn], retain_graph=True)[0].clamp(min=0).mean(dim=(1, 2))
            for score, attn in zip(own, attention, strict=True)
        ]
        *gradients, of_input = torch.autograd.grad(_own_score(scores, classes), [*attention, x])
    return Relevance(
        tokens=as_array(gradient_rollout([a.detach() for a in attention], gradients)),
        sensitivity=as_array(torch.stack(sensitivity).mean(dim=0)),
        pixels=as_array(of_input * x.detach()),
        logits=as_array(scores),
    )


def sum_by_patch(pixels: FloatArray, patch_px: int) -> FloatArray:
    """Return (B, C, H, W) -> (B, patches): values summed over channels and over each patch's pixels."""
    B, C, H, W = pixels.shape
    cut = pixels.reshape(B, C, H // patch_px, patch_px, W // patch_px, patch_px)
    return np.asarray(cut.sum(axis=(1, 3, 5)).reshape(B, -1), dtype=np.float32)
