"""Compare runs: the time to an accuracy, the parameters by part, and the differences of their recipes."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.config import TrainConfig
from vitviz.text import join_words

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


def describe_recipe_differences(trains: Mapping[str, TrainConfig]) -> str:
    """Return the settings that differ between trainings, such as '25 to 54 epochs; mixup for ViT'; '' if none does."""
    spans = {
        "{} epochs": [train.epochs or 0.0 for train in trains.values()],
        "peak learning rate {}": [train.learning_rate for train in trains.values()],
        "weight decay {}": [train.weight_decay for train in trains.values()],
    }
    only = {
        "random erasing": [name for name, train in trains.items() if train.erase_px],
        "mixup or CutMix": [
            name for name, train in trains.items() if train.mixup_alpha or train.cutmix_alpha
        ],
        "distillation": [name for name, train in trains.items() if train.distill_from],
    }
    parts = [
        words.format(f"{min(values):g} to {max(values):g}")
        for words, values in spans.items()
        if len({*values}) > 1
    ]
    parts += [
        f"{technique} for {join_words(names)}"
        for technique, names in only.items()
        if 0 < len(names) < len(trains)
    ]
    return "; ".join(parts)


def find_varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values differ between rows that have them, in the order in which they first appear.

    A name that only some rows have does not differ by that: a CNN has no heads, which its kind says already.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if _varies([row[name] for row in rows if name in row])]


def _varies(values: Sequence[Any]) -> bool:
    return any(other != values[0] for other in values)
