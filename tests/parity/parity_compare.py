"""Shared by the parity tests: random weights, attention recorded from the other side, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FORWARD = {"atol": 1e-5, "rtol": 1e-5}


def shake(model: nn.Module, seed: int) -> nn.Module:
    """Random numbers everywhere: zero biases, tokens and gains of 1 would hide a wrong mapping."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def attention_of(forward: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """What a model gives, and every attention that it computes, by torch's own functions."""
    seen: list[Tensor] = []
    softmax = F.softmax

    def watched_softmax(scores: Tensor, dim: int | None = None, **rest: Any) -> Tensor:
        seen.append(softmax(scores, dim=dim, **rest))
        return seen[-1]

    def watched_sdpa(
        q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, *_: Any, **rest: Any
    ) -> Tensor:
        scores = q @ k.mT * (rest.get("scale") or q.shape[-1] ** -0.5)
        seen.append(torch.softmax(scores if attn_mask is None else scores + attn_mask, dim=-1))
        return seen[-1] @ v

    with (
        patch.object(F, "softmax", watched_softmax),
        patch.object(F, "scaled_dot_product_attention", watched_sdpa),
    ):
        return forward(x), seen
