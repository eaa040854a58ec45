"""How the trainings of models that stand side by side differ: what is to be known before the models are compared."""

from __future__ import annotations

from collections.abc import Mapping

from vitviz.config import TrainConfig
from vitviz.text import listed


def differing(trains: Mapping[str, TrainConfig]) -> str:
    """What not all trainings have in common: '25 to 54 epochs; pictures mixed for ViT'; empty where they are alike.

    Args:
        trains: by the model's name, as a sentence may hold it.
    """
    spans = {
        "{} epochs": [train.epochs or 0.0 for train in trains.values()],
        "peak learning rate {}": [train.learning_rate for train in trains.values()],
        "weight decay {}": [train.weight_decay for train in trains.values()],
    }
    only = {
        "squares cut out of pictures": [name for name, train in trains.items() if train.erase_px],
        "pictures mixed": [name for name, train in trains.items() if train.mixup_alpha or train.cutmix_alpha],
        "a teacher": [name for name, train in trains.items() if train.distill_from],
    }
    said = [
        words.format(f"{min(values):g} to {max(values):g}")
        for words, values in spans.items()
        if len({*values}) > 1
    ]
    said += [f"{what} for {listed(names)}" for what, names in only.items() if 0 < len(names) < len(trains)]
    return "; ".join(said)
