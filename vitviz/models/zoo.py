"""Named model shapes, and the one place that turns a config into a model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from vitviz.config import ModelConfig, Preparation, ViTConfig
from vitviz.models.vit import VisionTransformer

GREY_32 = Preparation(image_size=32, mean=(0.5,), std=(0.5,), digit=True)
RGB_32 = Preparation(image_size=32, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
GREY_28 = Preparation(image_size=28, mean=(0.1307,), std=(0.3081,), digit=True)
IMAGENET_224 = Preparation(
    image_size=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), crop_fraction=0.875
)


@dataclass(frozen=True)
class Preset:
    """A named shape: the model's config, how its pictures are prepared, and one sentence about it."""

    name: str
    title: str
    config: ModelConfig
    preparation: Preparation
    summary: str


_ALL = (
    Preset(
        "vit_digits",
        "Small ViT for digits, 32 px, patch 4",
        ViTConfig(image_size=32, patch_size=4, in_chans=1, embed_dim=64, depth=4, num_heads=4, mlp_ratio=2.0),
        GREY_32,
        "Reads grey 32 px digits as 8 x 8 patches.",
    ),
    Preset(
        "vit_rgb_32",
        "Small ViT, 32 px RGB, patch 4",
        ViTConfig(image_size=32, patch_size=4, embed_dim=96, depth=6, num_heads=3),
        RGB_32,
        "Reads 32 px colour pictures as 8 x 8 patches.",
    ),
    Preset(
        "vit_tiny_16",
        "ViT-Ti/16, 224 px",
        ViTConfig(image_size=224, patch_size=16, num_classes=1000, embed_dim=192, depth=12, num_heads=3),
        IMAGENET_224,
        "The smallest of the ViT family at full size: 14 x 14 patches of 16 px.",
    ),
)
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def create_model(config: ModelConfig, seed: int | None = None) -> nn.Module:
    """A freshly initialised model; with a seed the weights are the same on every call.

    Raises:
        ValueError: if no model is known for this config.
    """
    if seed is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return create_model(config)
    if isinstance(config, ViTConfig):
        return VisionTransformer(config)
    raise ValueError(f"no model for a config of kind {config.kind!r}")
