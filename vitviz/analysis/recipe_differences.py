"""Describe the differences of the training recipes of models that are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from vitviz.config import TrainConfig
from vitviz.text import join_words


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
