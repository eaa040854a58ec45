"""Store weights as int8 with one scale per output row, and restore them as fp32."""

import torch
from torch import Tensor

SCALE = ".scale"  # ends the name of a tensor of scales
LARGEST = 127  # code


def quantise(weights: Tensor, largest_code: int = LARGEST) -> tuple[Tensor, Tensor]:
    """Return (int8 codes, fp32 scales of the rows) of a weight matrix or a convolution's filters."""
    largest = weights.float().abs().flatten(1).amax(1)
    scales = torch.where(largest > 0, largest / largest_code, 1.0)
    codes = (weights.float() / _spread(scales, weights)).round().clamp(-largest_code, largest_code)
    return codes.to(torch.int8), scales


def dequantise(codes: Tensor, scales: Tensor) -> Tensor:
    """Return weights in fp32: every row of `codes` times its scale."""
    return codes.float() * _spread(scales, codes)


def _spread(scales: Tensor, like: Tensor) -> Tensor:
    return scales.view(-1, *[1] * (like.dim() - 1))
