"""Measure with gradients: the norm that reaches each block's parameters, and the receptive fields of layers."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.config import ModelConfig
from vitviz.models.vit import VisionTransformer
from vitviz.probe.layers import list_layers


def measure_gradient_norms(model: VisionTransformer, inputs: Tensor, labels: Tensor) -> NDArray[np.float64]:
    """Return (depth,) L2 norms of the cross-entropy's gradient by each block's parameters: g_l = ||dL / d theta_l||.

    All blocks have as many parameters, so their norms can be compared. Dropout is off; the model is left as it was.

    Args:
        model: fp32.
        inputs: (B, C, H, W), normalised.
        labels: (B,) int64.
    """
    was_training = model.training
    model.eval()
    with torch.enable_grad():
        loss = F.cross_entropy(model(inputs), labels)
        parts = [list(model.block(index).parameters()) for index in range(model.config.depth)]
        gradients = torch.autograd.grad(loss, [parameter for part in parts for parameter in part])
    model.train(was_training)
    squares = iter([float(gradient.double().square().sum()) for gradient in gradients])
    return np.sqrt([sum(next(squares) for _ in part) for part in parts])


def image_gradient_maps(
    model: nn.Module, images: NDArray[np.float32], names: Sequence[str]
) -> dict[str, tuple[NDArray[np.float64], tuple[int, int]]]:
    """Return |d (central output of a layer) / d pixel|, summed over channels, image by image.

    The output is weighted by random signs over its channels, so that gradients of opposite channels do not
    cancel (Luo et al. 2016, Understanding the effective receptive field).

    Args:
        model: a frozen model that records `names` as feature maps: (B, C, rows, cols) of a CNN, or
            (B, rows, cols, C) of a Swin.
        images: (B, C, H, W), prepared.

    Returns:
        name -> ((B, H, W), (rows, cols) of the layer's map).
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
            out[name] = gradient.abs().sum(dim=1).double().numpy(), (rows, cols)
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
