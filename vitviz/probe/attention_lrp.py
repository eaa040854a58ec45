"""Compute AttnLRP of a ViT as gradient times value, in a copy whose backward pass follows the rules of LRP."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.devices import make_input
from vitviz.models.layers import Attention, AttentionPool, Mlp, QuickGELU
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import copy_sharing_weights
from vitviz.probe.capture import FloatArray, as_array

_ACTIVATIONS = (nn.GELU, nn.ReLU, nn.SiLU, QuickGELU)


def attention_relevance(
    model: VisionTransformer, images: FloatArray, classes: NDArray[np.int64], layer: int = 0
) -> FloatArray:
    """Return the relevance of every token that enters a layer for one class per image (Achtibat et al. 2024).

    Norms pass relevance as if their deviation were constant, an activation f(u) as a factor f(u) / u, a product of two
    matrices half to each factor, and softmax by its first-order Taylor expansion; linear maps by LRP-0. The rest is
    the gradient times the token's values.

    Args:
        images: (B, C, H, W), prepared.
        classes: (B,), index of the class whose score is explained.
        layer: from 0, the layer whose input tokens receive the relevance.

    Returns:
        (B, tokens), signed.
    """
    follower, name = _follow_rules(model), f"blocks.{layer}.input"
    with torch.enable_grad():
        x = make_input(model, images).requires_grad_()
        logits, record = follower(x, record=(name,))
        chosen = logits.gather(1, torch.from_numpy(classes).to(x.device)[:, None]).sum()
        (gradient,) = torch.autograd.grad(chosen, [record[name]])
    return np.asarray(as_array((gradient * record[name]).sum(dim=-1)), dtype=np.float32)


def _follow_rules(model: VisionTransformer) -> VisionTransformer:
    """Return a copy with the model's weights and outputs whose backward pass follows the rules of LRP."""
    follower = copy_sharing_weights(model)
    for module in [*follower.modules()]:
        for name, child in module.named_children():
            if isinstance(child, nn.LayerNorm | nn.RMSNorm):
                setattr(module, name, _ConstantDeviation(child))
            elif isinstance(child, _ACTIVATIONS):
                setattr(module, name, _ConstantFactor(child))
        # Of A V, A and V get half each, and of Q K^T, Q and K get half of A's.
        if isinstance(module, Attention):
            module.qkv = _Shares(module.qkv, (1 / 4, 1 / 4, 1 / 2))
        elif isinstance(module, AttentionPool):
            module.kv = _Shares(module.kv, (1 / 4, 1 / 2))  # type: ignore[assignment]
        elif isinstance(module, Mlp) and module.gated:
            module.norm = nn.Sequential(_Shares(nn.Identity(), (1 / 2,)), module.norm)
    return follower


class _ConstantDeviation(nn.Module):
    """Normalises as a norm does; its deviation is a constant of the backward pass."""

    def __init__(self, norm: nn.LayerNorm | nn.RMSNorm) -> None:
        super().__init__()
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True) if isinstance(self.norm, nn.LayerNorm) else x
        eps = self.norm.eps or torch.finfo(x.dtype).eps
        y = centred / (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt().detach()
        if self.norm.weight is not None:
            y = y * self.norm.weight
        bias = getattr(self.norm, "bias", None)
        return y if bias is None else y + bias


class _ConstantFactor(nn.Module):
    """Computes an activation f(u); f(u) / u is a constant of the backward pass."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, u: Tensor) -> Tensor:
        factor: Tensor = self.activation(u) / torch.where(u == 0, 1, u)
        return u * factor.detach()


class _Shares(nn.Module):
    """Computes a layer whose equal parts of channels pass on a share of their gradient each."""

    def __init__(self, layer: nn.Module, shares: tuple[float, ...]) -> None:
        super().__init__()
        self.layer, self.shares = layer, shares

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)
        share = torch.tensor(self.shares).to(y).repeat_interleave(y.shape[-1] // len(self.shares))
        return y.detach() + share * (y - y.detach())
