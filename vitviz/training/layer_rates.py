"""Scale the learning rate by parameter: a faster head, slower early layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from vitviz.config import TrainConfig

_UNIT = re.compile(r"blocks\.\d+|layers\.\d+\.(blocks\.\d+|downsample)")
_LAST = re.compile(r"norm\b")  # the last norm goes with the last layer, as timm has it


def layer_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return each parameter's layer: 0 the embedding, 1 to L the layers, L + 1 the head.

    Args:
        names: of all parameters, in the model's order.
    """
    parameter_names = list(names)
    units = list(dict.fromkeys(found.group() for name in parameter_names if (found := _UNIT.match(name))))
    number = {unit: place for place, unit in enumerate(units, start=1)}

    def find_layer(name: str) -> int:
        if found := _UNIT.match(name):
            return number[found.group()]
        if name.startswith("head"):
            return len(units) + 1
        return len(units) if _LAST.match(name) else 0

    return {name: find_layer(name) for name in parameter_names}


def rate_scales(config: TrainConfig, names: Iterable[str]) -> Callable[[str], float]:
    """Return the multiplier of the peak learning rate by a parameter's name.

    A layer l of L + 1 learns at decay^(L + 1 - l) of the rate (Clark et al. 2020; as timm's
    `param_groups_layer_decay`), the head at its own where it has one.

    Args:
        config: `learning_rate`, `head_learning_rate`, `layer_decay`.
        names: of all parameters, in the model's order.
    """
    if config.layer_decay == 1 and config.head_learning_rate is None:
        return lambda name: 1.0
    layers = layer_numbers(names)
    last = max(layers.values(), default=0)
    head = (config.head_learning_rate or config.learning_rate) / config.learning_rate

    def scale(name: str) -> float:
        return head if name.startswith("head") else float(config.layer_decay ** (last - layers[name]))

    return scale
