"""Turn a config into a model."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

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

Model = TypeVar("Model", bound=nn.Module)
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
    with _RandomNumbers(torch.Generator().manual_seed(seed)):
        return _MODELS[type(config)](config)


def copy_sharing_weights(model: Model) -> Model:
    """Return a copy whose modules are its own, so that they can be replaced, and whose tensors are the model's."""
    return deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})


class _RandomNumbers(TorchFunctionMode):
    """Draws initial values from a generator of its own (torch's shared one serves other threads in between).

    Without a generator tensors stay as they are: to draw for tensors without storage, torch imports its compiler
    (1.6 s of CPU).
    """

    def __init__(self, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.generator = generator

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            if self.generator is None:
                return args[0] if args else kwargs["tensor"]
            kwargs = {**kwargs, "generator": self.generator}
        return func(*args, **kwargs)


def empty_model(config: ModelConfig) -> nn.Module:
    """Return the model's shapes without its numbers, on torch's meta device: costs nothing, however large.

    Raises:
        ValueError: as `create_model`.
    """
    with torch.device("meta"), _RandomNumbers():
        return create_model(config)
