"""Compute class-specific relevance from gradients."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.probe.capture import FloatArray, as_array

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Relevance:
    """The attention and gradients of one backward pass, for each image and its class.

    `tokens` (B, query, key) is R of the gradient-weighted rollout; `pixels` (B, C, H, W) is gradient x input;
    `logits` (B, classes) are those of the pass.
    """

    tokens: FloatArray
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
    device = next(model.parameters()).device
    x = torch.tensor(images, dtype=torch.float32, device=device).requires_grad_()
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


def class_relevance(model: nn.Module, images: FloatArray, classes: IntArray) -> Relevance:
    """Return gradient-weighted rollout and gradient x input of one class per image, in one backward pass.

    The model stays frozen: the gradient starts at the input, and reaches the attention on its way.

    Args:
        images: (B, C, H, W), prepared.
        classes: (B,), index of the class whose score is explained.

    Raises:
        ValueError: if the model records no block's attention.
    """
    with torch.enable_grad():
        x, scores, record = _scores(model, images, classes, ("blocks.*.attn",))
        names = sorted(record, key=lambda name: int(name.split(".")[1]))
        if not names:
            raise ValueError("the model records no 'blocks.*.attn'; gradient-weighted rollout needs it")
        attention = [record[name] for name in names]
        *gradients, of_input = torch.autograd.grad(_own_score(scores, classes), [*attention, x])
    return Relevance(
        tokens=as_array(gradient_rollout([a.detach() for a in attention], gradients)),
        pixels=as_array(of_input * x.detach()),
        logits=as_array(scores),
    )


def sum_by_patch(pixels: FloatArray, patch_px: int) -> FloatArray:
    """Return (B, C, H, W) -> (B, patches): values summed over channels and over each patch's pixels."""
    B, C, H, W = pixels.shape
    cut = pixels.reshape(B, C, H // patch_px, patch_px, W // patch_px, patch_px)
    return np.asarray(cut.sum(axis=(1, 3, 5)).reshape(B, -1), dtype=np.float32)
