"""A model's parameters by part and its multiply-adds, counted from torch's meta tensors."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from vitviz.config import ModelConfig
from vitviz.models.zoo import empty_model


def count_parameters(config: ModelConfig) -> dict[str, int]:
    """Return the parameters by top-level part ('blocks.0', 'patch_embed', 'pos_embed', ...), in the model's order."""
    counts: dict[str, int] = {}
    for name, parameter in empty_model(config).named_parameters():
        first, _, rest = name.partition(".")
        part = f"{first}.{rest.partition('.')[0]}" if first in ("blocks", "layers") else first
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def multiply_adds(config: ModelConfig, side_px: int) -> int:
    """Return the multiply-adds of one image's matrix products and convolutions, attention included."""
    image = torch.empty(1, config.in_chans, side_px, side_px, device="meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        empty_model(config).to("meta").eval()(image)  # buffers of some models hold numbers
    return int(counter.get_total_flops()) // 2
