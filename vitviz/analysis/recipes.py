"""Describe the differences of the training recipes of models that are compared."""

from __future__ import annotations

from collections.abc import Mapping

from vitviz.config import TrainConfig
from vitviz.text import join_words


def differing(trains: Mapping[str, TrainConfig]) -> str:
    """Return the settings that differ between trainings, such as '25 to 54 epochs; mixup for ViT'; '' if none does.

    Args:
        trains: by the model's name, as a sentence may hold it.
    """
    spans = {
        "{} epochs": [train.epochs or 0.0 for train in trains.values()],
        "peak learning rate {}": [train.learning_rate for train in trains.values()],
        "weight decay {}": [train.weight_decay for train in trains.values()],
    }
    only = {
        "squares cut out of images": [name for name, train in trains.items() if train.erase_px],
        "images mixed": [name for name, train in trains.items() if train.mixup_alpha or train.cutmix_alpha],
        "a teacher": [name for name, train in trains.items() if train.distill_from],
    }
    said = [
        words.format(f"{min(values):g} to {max(values):g}")
        for words, values in spans.items()
        if len({*values}) > 1
    ]
    said += [
        f"{what} for {join_words(names)}" for what, names in only.items() if 0 < len(names) < len(trains)
    ]
    return "; ".join(said)
