"""Turn a config into a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    SwinConfig,
    ViTConfig,
)
from vitviz.models.cnn import ConvNet
from vitviz.models.lecture_nets import ConvAttention, FlatAttention
from vitviz.models.swin import SwinTransformer
from vitviz.models.vit import VisionTransformer

_MODELS: dict[type[ModelConfig], type[nn.Module]] = {
    ViTConfig: VisionTransformer,
    SwinConfig: SwinTransformer,
    CNNConfig: ConvNet,
    ConvAttentionConfig: ConvAttention,
    FlatAttentionConfig: FlatAttention,
}


def create_model(config: ModelConfig, seed: int | None = None) -> nn.Module:
    """Return a freshly initialised model; with a seed the weights are the same on every call.

    Raises:
        ValueError: if no model is known for this config.
    """
    if type(config) not in _MODELS:
        raise ValueError(
            f"no model for a {type(config).__name__}; known: {', '.join(c.kind for c in _MODELS)}"
        )
    if seed is None:
        return _MODELS[type(config)](config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _MODELS[type(config)](config)


class _NoRandomNumbers(TorchFunctionMode):
    """Leaves tensors without storage as they are: to draw for them, torch imports its compiler (1.6 s of CPU)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in ("normal_", "uniform_") and args:
            return args[0]
        return func(*args, **(kwargs or {}))


def empty_model(config: ModelConfig) -> nn.Module:
    """Return the model's shapes without its numbers, on torch's meta device: costs nothing, however large.

    Raises:
        ValueError: as `create_model`.
    """
    with torch.device("meta"), _NoRandomNumbers():
        return create_model(config)
