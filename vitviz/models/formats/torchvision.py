"""torchvision's checkpoints of ViT and Swin."""

import re
from functools import partial

from vitviz.config import ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import RULES, Format, State, describe_swin, describe_vit, rename


def translate_vit(state: State) -> State:
    """Return a torchvision ViT's tensors under this project's names."""
    return rename(state, RULES["torchvision_vit"])


def describe_torchvision_vit(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a torchvision ViT, whose positions torchvision's `interpolate_embeddings` resizes."""
    return describe_vit(shapes, settings, positions_antialias=False, positions_align_corners=True)


def translate_swin(state: State) -> State:
    """torchvision counts stages and mergings in one list: 1, 3, 5, 7 are stages, 2, 4, 6 lead to the next."""

    def renamed(match: re.Match[str]) -> str:
        position = int(match[1])
        return f"layers.{position // 2}.{'blocks' if position % 2 else 'downsample'}."

    return {
        re.sub(r"^features\.(\d{1,3})\.", renamed, name): tensor
        for name, tensor in rename(state, RULES["torchvision_swin"]).items()
    }


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
    partial(describe_swin, convention="torchvision"),
    needs=r"^features\.0\.0\.weight$",
)
