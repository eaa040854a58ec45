"""Sentences about the numbers of the lens 'Hybrids'."""

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.receptive_fields import enlarging
from vitviz.config import ViTConfig
from vitviz.models import parameter_count
from vitviz.text import percent, plural


def format_field(config: ViTConfig, field_px: float) -> str:
    """Return a receptive field in image pixels: '9 × 9 px'; 'about …' if the stem enlarges the image first."""
    side = round(field_px)
    return f"{'' if enlarging(config) == 1 else 'about '}{side} × {side} px"


def describe_feature_maps(
    config: ViTConfig, maps: NDArray[np.floating], number: int, cell: tuple[int, int], field_px: float
) -> str:
    """Return shape, receptive field and sparsity of the feature maps (C, H, W) after a convolution, from 1."""
    entering_px = round(config.image_size * enlarging(config))
    enlarged = (
        ""
        if entering_px == config.image_size
        else f" (the image is enlarged to {entering_px} × {entering_px} px first)"
    )
    zero_maps = int((maps.max(axis=(1, 2)) == 0).sum())
    return (
        f"Convolution {number} outputs {maps.shape[0]} feature maps of {maps.shape[1]} × {maps.shape[2]}, each on its"
        f" own scale from 0. The outlined position, row {cell[0] + 1}, column {cell[1] + 1}, has a receptive field of"
        f" {format_field(config, field_px)}{enlarged}. ReLU sets {percent(float((maps == 0).mean()))} of the values to"
        f" 0; {plural(zero_maps, 'map is', 'maps are')} zero everywhere."
    )


def describe_tokens(
    config: ViTConfig,
    maps: NDArray[np.floating],
    tokens: NDArray[np.floating],
    cell: tuple[int, int],
    field_px: float,
) -> str:
    """Return how the last feature maps (C, H, W) become tokens (N, D), and the cost of the stem."""
    weights = parameter_count.parameters(config)
    adds = parameter_count.multiply_adds(config, config.image_size)
    channels, rows, cols = maps.shape
    return (
        f"A {channels} × {config.embed_dim} matrix maps each of the {rows} × {cols} positions to a token:"
        f" {plural(len(tokens), 'token')} of {tokens.shape[1]}. The outlined one, row {cell[0] + 1}, column"
        f" {cell[1] + 1}, has a receptive field of {format_field(config, field_px)}, not the {config.patch_size} ×"
        f" {config.patch_size} px of a patch. The stem holds"
        f" {percent(weights[parameter_count.EMBEDDING] / sum(weights.values()))} of the parameters and"
        f" {percent(adds[parameter_count.EMBEDDING] / sum(adds.values()))} of the multiply-adds."
    )
