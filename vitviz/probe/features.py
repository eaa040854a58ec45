"""Compute the features that a classifier head reads."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.models.vit import VisionTransformer

BATCH = 256


@torch.inference_mode()
def extract_features(model: nn.Module, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the features (N, D) that a model's head reads: [CLS], the mean of the patches, a CNN's pooled map.

    Args:
        model: with a linear `head`; of a DeiT what its first head reads.
        inputs: (N, C, S, S), prepared for it.
    """
    body = copy.copy(model)
    body._modules = {**model._modules, "head": _headless(model.get_submodule("head"))}
    if "head_dist" in body._modules:
        body._modules["head_dist"] = None
    body.training = False
    parts = [body(torch.from_numpy(inputs[at : at + BATCH])) for at in range(0, len(inputs), BATCH)]
    features: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return features


@torch.inference_mode()
def patch_means(model: VisionTransformer, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean (N, D) of a ViT's patches after its last norm, whatever its head reads.

    Args:
        inputs: (N, C, S, S), prepared for it.
    """
    prefix = len(model.config.prefix_tokens)
    model.eval()
    parts = []
    for at in range(0, len(inputs), BATCH):
        _, records = model(torch.from_numpy(inputs[at : at + BATCH]), record=("norm",))
        parts.append(records["norm"][:, prefix:].mean(dim=1))
    means: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return means


def _headless(head: nn.Module) -> nn.Module:
    """Return a head without its last linear map; a Swin's pools first."""
    if isinstance(head, nn.Linear | nn.Identity):
        return nn.Identity()
    pooling = copy.copy(head)
    pooling._modules = {**head._modules, "fc": nn.Identity()}
    return pooling
