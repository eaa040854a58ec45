"""Count a model's parameters by part and the multiply-adds of one image."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from vitviz.config import ModelConfig
from vitviz.models.zoo import empty_model


def meta_model(config: ModelConfig) -> nn.Module:
    """Return the model's shapes without its numbers: costs nothing, however large."""
    return empty_model(config).to("meta").eval()


def count_parameters(model: nn.Module) -> dict[str, int]:
    """Return the parameters by top-level part ('blocks.0', 'patch_embed', 'pos_embed', ...), in the model's order."""
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        first, _, rest = name.partition(".")
        part = f"{first}.{rest.partition('.')[0]}" if first in ("blocks", "layers") else first
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def multiply_adds(config: ModelConfig, height_px: int, width_px: int) -> int:
    """Return the multiply-adds of one image's matrix products and convolutions, attention included.

    Papers call these 'FLOPs'; the products and sums counted apart are twice as many.
    """
    model = meta_model(config)
    picture = torch.empty(1, config.in_chans, height_px, width_px, device="meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(picture)
    return int(counter.get_total_flops()) // 2
