"""Measure the time a run takes to reach an accuracy, and count its parameters by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PARTS = (
    ("stem", "Convolutional stem"),  # before patch_embed: a hybrid's convolutions lie in it
    ("patch_embed", "Patch embedding E"),
    ("pos_embed", "Positions"),
    ("pos_proj", "Positions"),
    ("cls_token", "Prefix tokens"),
    ("dist_token", "Prefix tokens"),
    ("reg_token", "Prefix tokens"),
    (".attn.", "Attention"),
    (".mlp.", "MLP"),
    ("head", "Classifier head"),
)


def time_to(
    levels: Sequence[float], accuracy: NDArray[np.floating[Any]], seconds: NDArray[np.floating[Any]]
) -> list[float | None]:
    """Return the seconds at which the accuracy first reached each level; None where it never did.

    Args:
        levels: in [0, 1].
        accuracy: (n,), in the order of time.
        seconds: (n,), of training.
    """
    first: list[float | None] = []
    for level in levels:
        reached = np.flatnonzero(accuracy >= level)
        first.append(float(seconds[reached[0]]) if len(reached) else None)
    return first


def parameters_by_part(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Count the parameters of each part of a model, in the order of the forward pass.

    Args:
        shapes: parameter name (timm's names) -> shape.
    """
    counts: dict[str, int] = {}
    for name, shape in shapes.items():
        part = next((title for key, title in _PARTS if key in name), None)
        if part is None:
            part = "Norms" if "norm" in name else "Other"
        counts[part] = counts.get(part, 0) + prod(shape)
    order = [*dict.fromkeys(title for _, title in _PARTS), "Norms", "Other"]
    return {part: counts[part] for part in order if part in counts}
