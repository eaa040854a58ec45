"""Shared by the parity tests: random weights, attention recorded from the other side, and the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FORWARD = {"atol": 1e-5, "rtol": 1e-5}
GRADIENT = {"atol": 1e-4, "rtol": 1e-4}


def shake(model: nn.Module, seed: int) -> nn.Module:
    """Random numbers everywhere: zero biases, tokens and gains of 1 would hide a wrong mapping."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def explicit(model: nn.Module) -> nn.Module:
    """timm's unfused attention, which has a softmax to look at."""
    for module in model.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    return model


def softmax_outputs(model: nn.Module, is_softmax: Callable[[str, nn.Module], bool]) -> list[Tensor]:
    """A list that fills with what the chosen modules put out, in the order of computing."""
    seen: list[Tensor] = []
    for name, module in model.named_modules():
        if is_softmax(name, module):
            module.register_forward_hook(lambda _m, _i, out: seen.append(out))
    return seen


def check_gradients(
    ours: nn.Module, theirs: nn.Module, x: Tensor, renamed: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> None:
    """d(logits * fixed noise) by the input and by every parameter agree."""
    inputs = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    for model, given in zip((ours, theirs), inputs, strict=True):
        model.zero_grad()
        logits = model(given)
        noise = torch.randn(logits.shape, generator=torch.Generator().manual_seed(1))
        (logits * noise).mean().backward()
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad, **GRADIENT)
    expected = renamed({n: p.grad for n, p in theirs.named_parameters() if p.grad is not None})
    received = {n: p.grad for n, p in ours.named_parameters() if p.grad is not None}
    assert received.keys() == expected.keys()
    for name, gradient in received.items():
        torch.testing.assert_close(gradient, expected[name], **GRADIENT, msg=lambda m, n=name: f"{n}: {m}")


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
