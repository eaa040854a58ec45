"""Measure the gradient norm that reaches each block, with and without residual connections and norms."""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from vitviz.models.vit import VisionTransformer


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
