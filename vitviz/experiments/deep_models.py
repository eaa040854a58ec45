"""The deep ViTs in which the gradient is followed from block to block; read without torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vitviz.config import ViTConfig
from vitviz.experiments.hyperparameter import BASES

NAME = "gradient_norms"
DATASET = "digits"
SEEDS = (0, 1, 2)
DEPTH = 12  # of a ViT-B; the digits need two
PICTURES = 128  # whose gradient is taken
MARKS = (0, 1, 3, 10, 30, 100, 200)  # updates made
VARIANTS: dict[str, str] = {
    "pre": "LayerNorm before, with residuals",
    "post": "LayerNorm after, with residuals",
    "pre_none": "LayerNorm before, no residuals",
    "post_none": "LayerNorm after, no residuals",
}
PREPARATION = BASES[DATASET].preparation
TRAIN = replace(BASES[DATASET].train, learning_rate=1e-3, schedule="constant", warmup_fraction=0.0)


def deep(variant: str, depth: int = DEPTH) -> ViTConfig:
    """Return the base's model, deeper, in one of `VARIANTS`.

    Raises:
        ValueError: if there is no such variant.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, received {variant!r}")
    changes: dict[str, Any] = {"norm": variant.partition("_")[0], "residual": not variant.endswith("_none")}
    return replace(BASES[DATASET].model, depth=depth, **changes)
