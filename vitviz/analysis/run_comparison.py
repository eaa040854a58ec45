"""Compare runs: the time to an accuracy, the parameters by part, and the values that vary."""

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


def time_to_accuracy(
    times: NDArray[np.floating[Any]], accuracy: NDArray[np.floating[Any]], level: float
) -> float | None:
    """Return the time at which the accuracy (n,) first reached a level; None if it never did."""
    reached = np.flatnonzero(accuracy >= level)
    return float(times[reached[0]]) if len(reached) else None


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


def find_varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values differ between rows that have them, in the order in which they first appear.

    A name that only some rows have does not differ by that: a CNN has no heads, which its kind says already.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if _varies([row[name] for row in rows if name in row])]


def _varies(values: Sequence[Any]) -> bool:
    return any(other != values[0] for other in values)
