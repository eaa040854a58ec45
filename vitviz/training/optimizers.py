"""The optimisers: fused loops over the long fp32 vector, and Muon for the hidden matrices in it."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Muon, Optimizer

from vitviz.config import TrainConfig
from vitviz.training.weights import Weights, decays


def make_optimizers(weights: Weights, config: TrainConfig) -> list[Optimizer]:
    """Return AdamW, Adam (L2 in the gradient), SGD with momentum, or Muon together with AdamW.

    Muon (Jordan et al. 2024) replaces a matrix's averaged gradient G = U S V' by U V', found by five Newton-Schulz
    steps; times 0.2 sqrt(max(rows, columns)) it is as large as AdamW's (Liu et al. 2025), so one learning rate serves
    both. A convolution is a matrix (out, in * k * k).

    Each group says whether it `decays`, so that a later change of the weight decay goes to those that do, and its
    `scale`: the share of the learning rate that it learns at.
    """
    if config.optimizer == "muon":
        return _fixed_norm_muon(weights, config) if config.fixed_norms else _muon(weights, config)
    groups = _scaled(weights, config)
    rate = config.learning_rate
    if config.optimizer == "adamw":
        return [AdamW(groups, lr=rate, fused=True)]
    if config.optimizer == "adam":
        return [Adam(groups, lr=rate, fused=True)]
    momentum = config.momentum
    return [SGD(groups, lr=rate, momentum=momentum, nesterov=momentum > 0, fused=True)]


def _scaled(weights: Weights, config: TrainConfig) -> list[dict[str, Any]]:
    """Return a group for each stretch of the master that decays alike and learns at one rate."""
    scale = rate_scales(config, [name for name, _ in weights.model.named_parameters()])
    return [_group(config, [place], decaying, factor) for place, decaying, factor in weights.segments(scale)]


def _group(config: TrainConfig, places: list[Tensor], decays: bool, scale: float = 1.0) -> dict[str, Any]:
    return {
        "params": [place for place in places if len(place)],
        "lr": config.learning_rate * scale,
        "weight_decay": config.weight_decay if decays else 0.0,
        "decays": decays,
        "scale": scale,
    }


class FixedNormMuon(Muon):
    """Muon on matrices that it first scales to a norm of sqrt(rows), which a batch norm behind them does not see."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Make one update."""
        for group in self.param_groups:
            for matrix in group["params"]:
                matrix.mul_(len(matrix) ** 0.5 / matrix.norm())
        return super().step(closure)  # type: ignore[no-untyped-call]


# airbench94_muon's learning rates of filters, biases and head (Jordan 2024). Its loss is a batch's sum, here the mean;
# its logits are divided by the width, here the head's weights are.
_FILTER_RATE, _BIAS_RATE, _HEAD_RATE = 0.24, 0.053, 0.67


def _fixed_norm_muon(weights: Weights, config: TrainConfig) -> list[Optimizer]:
    """Return Muon for the filters of a CNN and SGD for its biases and head; batch norms keep their scales of 1."""
    filters = [_flat(place) for _, place in weights.decayed_places() if place.ndim == 4]
    head = weights.model.get_submodule("head")
    assert isinstance(head, nn.Linear)
    scale = {"head": _HEAD_RATE / head.in_features**2, "bias": _BIAS_RATE}

    def find_scale(name: str) -> float:
        kind = "head" if name.startswith("head") else name.rpartition(".")[2]
        return scale.get(kind, 0.0) * config.batch_size / _FILTER_RATE

    rate = config.learning_rate
    others = [
        {"params": [place], "decays": True, "scale": factor, "decay_divisor": factor}
        for place, _, factor in weights.segments(find_scale)
        if factor
    ]
    matrices = [_group(config, filters, decays=False)]
    return [
        FixedNormMuon(matrices, lr=rate, momentum=0.6, ns_steps=3, adjust_lr_fn="original"),
        SGD(others, lr=rate, momentum=0.85, nesterov=True, fused=True),
    ]


def _muon(weights: Weights, config: TrainConfig) -> list[Optimizer]:
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, place in weights.decayed_places():
        (matrices if _is_hidden_map(weights.model, name) else others).append(place)
    optimizers: list[Optimizer] = []
    if matrices:
        groups = [_group(config, [_flat(place) for place in matrices], decays=True)]
        optimizers.append(Muon(groups, lr=config.learning_rate, adjust_lr_fn="match_rms_adamw"))
    groups = [_group(config, others, decays=True), _group(config, [weights.groups[1]], decays=False)]
    if groups := [group for group in groups if group["params"]]:
        optimizers.append(AdamW(groups, lr=config.learning_rate, fused=True))
    return optimizers


def _is_hidden_map(model: nn.Module, name: str) -> bool:
    """Return True if a weight is one linear map between hidden layers.

    What reads the pixels and what gives the logits stays AdamW's, as Muon's author has it; so do the stacked maps of
    heads that read a slice each.
    """
    first = next(path for path, parameter in model.named_parameters() if decays(path, parameter))
    module, reader = (model.get_submodule(path.rpartition(".")[0]) for path in (name, first))
    reads_pixels = name in (first, "pos_proj.weight") or (
        isinstance(module, nn.Conv2d)
        and isinstance(reader, nn.Conv2d)
        and module.in_channels == reader.in_channels
    )
    return isinstance(module, nn.Linear | nn.Conv2d) and not reads_pixels and "head" not in name


def _flat(place: Tensor) -> Tensor:
    """Return a weight's place as a matrix, its gradient's too."""
    matrix = place.view(len(place), -1)
    assert place.grad is not None
    matrix.grad = place.grad.view(len(place), -1)
    return matrix


def optimizer_tensors(optimizers: list[Optimizer]) -> dict[str, Tensor]:
    """Return the optimisers' state on the CPU, not shared: 'INDEX.SLOT' counts parameters through all of them."""
    tensors, first = {}, 0
    for optimizer in optimizers:
        for index, slots in optimizer.state_dict()["state"].items():
            for slot, tensor in slots.items():
                if isinstance(tensor, Tensor):
                    tensors[f"{first + index}.{slot}"] = tensor.to("cpu", copy=True)
        first += _count(optimizer)
    return tensors


def load_optimizer_tensors(optimizers: list[Optimizer], tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    first = 0
    for optimizer in optimizers:
        count, saved = _count(optimizer), optimizer.state_dict()
        saved["state"] = {}
        for name, tensor in tensors.items():
            index, _, slot = name.partition(".")
            if first <= int(index) < first + count:
                saved["state"].setdefault(int(index) - first, {})[slot] = tensor
        optimizer.load_state_dict(saved)
        first += count


def _count(optimizer: Optimizer) -> int:
    return sum(len(group["params"]) for group in optimizer.param_groups)


_UNIT = re.compile(r"blocks\.\d+|layers\.\d+\.(blocks\.\d+|downsample)")
_LAST = re.compile(r"norm\b")  # the last norm goes with the last layer, as timm has it


def layer_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return each parameter's layer: 0 the embedding, 1 to L the layers, L + 1 the head.

    Args:
        names: of all parameters, in the model's order.
    """
    parameter_names = list(names)
    units = list(dict.fromkeys(match.group() for name in parameter_names if (match := _UNIT.match(name))))
    number = {unit: place for place, unit in enumerate(units, start=1)}

    def find_layer(name: str) -> int:
        if match := _UNIT.match(name):
            return number[match.group()]
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
