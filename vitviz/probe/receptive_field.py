"""Measure a layer's receptive field with gradients; holds tensors, returns arrays."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.config import ModelConfig
from vitviz.probe.layers import list_layers

FloatArray = NDArray[np.float32]


def gradient_maps(
    model: nn.Module, images: FloatArray, names: Sequence[str]
) -> dict[str, tuple[NDArray[np.float64], tuple[int, int]]]:
    """Return |d (central output of a layer) / d pixel|, summed over channels and averaged over images.

    The output is weighted by random signs over its channels, so that gradients of opposite channels do not
    cancel (Luo et al. 2016, Understanding the effective receptive field).

    Args:
        model: a frozen model that records `names` as feature maps: (B, C, rows, cols) of a CNN, or
            (B, rows, cols, C) of a Swin.
        images: (B, C, H, W), prepared.

    Returns:
        name -> ((H, W) scaled to sum to 1, (rows, cols) of the layer's map).
    """
    x = torch.tensor(images, dtype=torch.float32, requires_grad=True)
    channels_last = list_layers(cast(ModelConfig, model.config))[0].form == "grid"
    with torch.enable_grad():
        _, record = model(x, record=tuple(names))
        out = {}
        for name in names:
            maps = record[name].movedim(-1, 1) if channels_last else record[name]
            rows, cols = maps.shape[2:]
            center = maps[:, :, rows // 2, cols // 2]
            signs = torch.randn(center.shape, generator=torch.Generator().manual_seed(0)).sign()
            (gradient,) = torch.autograd.grad((center * signs).sum(), x, retain_graph=True)
            total = gradient.abs().sum(dim=1).mean(dim=0).double()
            out[name] = ((total / total.sum().clamp_min(1e-300)).numpy(), (rows, cols))
    return out


def mean_reach_px(map_: NDArray[np.floating[Any]], grid: tuple[int, int]) -> float:
    """Return sum_p w_p ||pos_p - centre||, the mean distance of a layer's central output to its input pixels.

    Over the whole way from the pixels to the layer; mean attention distance tells of one layer alone.
    """
    height, width = map_.shape
    y, x = np.mgrid[:height, :width] + 0.5
    center_y = (grid[0] // 2 + 0.5) * height / grid[0]
    center_x = (grid[1] // 2 + 0.5) * width / grid[1]
    return float((map_ * np.hypot(y - center_y, x - center_x)).sum() / map_.sum())
