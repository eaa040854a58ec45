"""Augment and mix batches: pure functions, seeded from outside."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from scipy.special import betaincinv
from torch import Tensor

from vitviz.config import TrainConfig


@dataclass(frozen=True)
class Mixture:
    """Targets of mixed images: `weight` of `labels` and the rest of `others`."""

    labels: Tensor  # (B,) int64
    others: Tensor | None = None  # (B,) int64; None: nothing was mixed
    weight: float = 1.0

    def cross_entropy(self, logits: Tensor, smoothing: float) -> Tensor:
        """Return the mean loss of logits (B, classes), with label smoothing."""
        loss = F.cross_entropy(logits, self.labels, label_smoothing=smoothing)
        if self.others is None:
            return loss
        other = F.cross_entropy(logits, self.others, label_smoothing=smoothing)
        return self.weight * loss + (1 - self.weight) * other

    def split(self, parts: int) -> list[Mixture]:
        """Split into parts of nearly equal size; the first are larger."""
        others = [None] * parts if self.others is None else self.others.tensor_split(parts)
        labels = self.labels.tensor_split(parts)
        return [Mixture(*targets, self.weight) for targets in zip(labels, others, strict=True)]


def augment(
    images: Tensor,
    config: TrainConfig,
    fill: Tensor,
    generator: torch.Generator,
    flipped: Tensor | None = None,
) -> Tensor:
    """Flip, shift and erase a batch of images, each independently.

    Args:
        images: (B, C, H, W) uint8.
        config: says which; `shift_px` fills with black, `erase_px` cuts a square of `fill`.
        fill: (C,) uint8, the colour that normalisation maps to zero.
        generator: on the CPU, so that every device draws the same numbers.
        flipped: (B,) bool, the images that `flip` flips; None: a random half.

    Returns:
        (B, C, H, W) uint8; the input itself where nothing is asked.
    """
    if config.flip:
        if flipped is None:
            flipped = torch.rand(len(images), generator=generator) < 0.5
        flipped = flipped.to(images.device)
        images = torch.where(flipped[:, None, None, None], images.flip(-1), images)
    if config.shift_px:
        images = shift(images, config.shift_px, generator)
    if config.erase_px:
        images = erase(images, config.erase_px, fill, generator)
    return images


def shift(images: Tensor, reach_px: int, generator: torch.Generator) -> Tensor:
    """Move every image of a (B, C, H, W) batch by up to `reach_px` in x and y; what comes in is black."""
    batch, _, height, width = images.shape
    padded = torch.nn.functional.pad(images, (reach_px,) * 4)
    offsets = torch.randint(0, 2 * reach_px + 1, (2, batch), generator=generator).to(images.device)
    windows = padded.unfold(2, height, 1).unfold(3, width, 1)  # (B, C, 2r+1, 2r+1, H, W), a view
    image = torch.arange(batch, device=images.device)
    return windows[image, :, offsets[0], offsets[1]]


def erase(images: Tensor, side_px: int, fill: Tensor, generator: torch.Generator) -> Tensor:
    """Cut one square of `side_px` at a random centre out of every image (DeVries & Taylor 2017)."""
    batch, _, height, width = images.shape
    centres = torch.rand(2, batch, generator=generator).to(images.device)
    top = (centres[0] * height).long() - side_px // 2
    left = (centres[1] * width).long() - side_px // 2
    row = torch.arange(height, device=images.device)
    column = torch.arange(width, device=images.device)
    rows = (row >= top[:, None]) & (row < top[:, None] + side_px)  # (B, H)
    columns = (column >= left[:, None]) & (column < left[:, None] + side_px)  # (B, W)
    hole = (rows[:, :, None] & columns[:, None, :])[:, None]
    return torch.where(hole, fill[:, None, None], images)


def mix(
    inputs: Tensor, labels: Tensor, config: TrainConfig, generator: torch.Generator
) -> tuple[Tensor, Mixture]:
    """Mixup (Zhang et al. 2018) or CutMix (Yun et al. 2019) with one share per batch; both: a coin decides.

    Args:
        inputs: (B, C, H, W) floats, normalised.
        labels: (B,) int64.
        config: `mixup_alpha` and `cutmix_alpha` of Beta(alpha, alpha); 0 is off.
        generator: on the CPU.
    """
    if not (config.mixup_alpha or config.cutmix_alpha):
        return inputs, Mixture(labels)
    coin, uniform, y, x = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
    cut = config.cutmix_alpha > 0 and (config.mixup_alpha == 0 or coin < 0.5)
    alpha = config.cutmix_alpha if cut else config.mixup_alpha
    share = float(betaincinv(alpha, alpha, uniform))
    partner = torch.randperm(len(labels), generator=generator).to(labels.device)
    others = inputs[partner]
    if not cut:
        return torch.lerp(others, inputs, share), Mixture(labels, labels[partner], share)
    height, width = inputs.shape[-2:]
    half = (1.0 - share) ** 0.5 / 2.0
    top, bottom = (round(min(max(y + side * half, 0.0), 1.0) * height) for side in (-1, 1))
    left, right = (round(min(max(x + side * half, 0.0), 1.0) * width) for side in (-1, 1))
    mixed = inputs.clone()
    mixed[..., top:bottom, left:right] = others[..., top:bottom, left:right]
    kept_share = 1.0 - (bottom - top) * (right - left) / (height * width)
    return mixed, Mixture(labels, labels[partner], kept_share)
