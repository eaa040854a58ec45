"""torchvision's checkpoints of ViT and Swin."""

from __future__ import annotations

import re

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.header import Shapes
from vitviz.models.formats.naming import Format, State, describe_swin, describe_vit, rename

_VIT = (
    (r"^class_token$", "cls_token"),
    (r"^encoder\.pos_embedding$", "pos_embed"),
    (r"^conv_proj\.", "patch_embed.proj."),
    (r"^encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."),
    (r"\.ln_([12])\.", r".norm\1."),
    (r"\.self_attention\.in_proj_", ".attn.qkv."),
    (r"\.self_attention\.out_proj\.", ".attn.proj."),
    (r"\.mlp\.(?:0|linear_1)\.", ".mlp.fc1."),
    (r"\.mlp\.(?:3|linear_2)\.", ".mlp.fc2."),
    (r"^encoder\.ln\.", "norm."),
    (r"^heads\.head\.", "head."),
)
_SWIN = (
    (r"^features\.0\.0\.", "patch_embed.proj."),
    (r"^features\.0\.2\.", "patch_embed.norm."),
    (r"\.mlp\.0\.", ".mlp.fc1."),
    (r"\.mlp\.3\.", ".mlp.fc2."),
    (r"^head\.", "head.fc."),
)


def translate_vit(state: State) -> State:
    """Return a torchvision ViT's tensors under this project's names."""
    return rename(state, _VIT)


def describe_torchvision_vit(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a torchvision ViT."""
    return describe_vit(shapes, settings)


def translate_swin(state: State) -> State:
    """torchvision counts stages and mergings in one list: 1, 3, 5, 7 are stages, 2, 4, 6 lead to the next."""

    def renamed(match: re.Match[str]) -> str:
        position = int(match[1])
        return f"layers.{position // 2}.{'blocks' if position % 2 else 'downsample'}."

    return {
        re.sub(r"^features\.(\d{1,3})\.", renamed, name): tensor
        for name, tensor in rename(state, _SWIN).items()
    }


def describe_torchvision_swin(shapes: Shapes, settings: Settings) -> SwinConfig:
    """Return the config of a torchvision Swin."""
    return describe_swin(shapes, settings, "torchvision")


VIT = Format(
    "a torchvision ViT",
    r"^(?P<prefix>(?:[\w-]+\.)*?)encoder\.layers\.encoder_layer_0\.self_attention\.in_proj_weight$",
    translate_vit,
    describe_torchvision_vit,
    needs=r"^conv_proj\.weight$",
)
SWIN = Format(
    "a torchvision Swin",
    r"^(?P<prefix>(?:[\w-]+\.)*?)features\.1\.0\.attn\.qkv\.weight$",
    translate_swin,
    describe_torchvision_swin,
    needs=r"^features\.0\.0\.weight$",
)
