"""Faster forms, on a processor, of what the layers write out plainly; the same mathematics."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# exp(50) = 5e21: divided by a row's sum of it, a gradient of 1e-10 is still an ordinary bf16 number (1e-38 at least).
SAFE_SCORE = 50.0
_own = threading.local()


def _can_use_onednn(x: Tensor) -> bool:
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_grad_enabled()  # this form has no gradient
        and not torch.is_autocast_enabled("cpu")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    )


def linear(layer: nn.Module, x: Tensor, gelu: bool = False) -> Tensor:
    """layer(x), and GELU of it: without gradients in fp32 by oneDNN, on an AMD processor twice MKL's speed."""
    if isinstance(layer, nn.Linear) and _can_use_onednn(x):
        after, variant = ("gelu", "none") if gelu else ("none", "")
        shown: Tensor = torch.ops.mkldnn._linear_pointwise(x, layer.weight, layer.bias, after, [], variant)
        return shown
    y: Tensor = layer(x)
    return F.gelu(y) if gelu else y


def softmax(scores: Tensor, keep_scores: bool) -> Tensor:
    """Softmax over the last axis; in the scores' own memory, unless `keep_scores` is set or a gradient needs them.

    With every layer's N N weights recorded, fresh memory is what recording costs: a seventh of a ViT-Ti's pass.
    """
    # Shapes alone have no memory to write into, and torch knows no autocast of them.
    if keep_scores or scores.requires_grad or scores.is_meta or torch.is_autocast_enabled(scores.device.type):
        return scores.softmax(dim=-1)
    return torch.softmax(scores, dim=-1, out=scores)


def can_attend(qkv: Tensor) -> bool:
    """Return True if `attend` pays: bf16 on a processor, where torch's softmax and dtype changes are the slow part."""
    return qkv.device.type == "cpu" and qkv.dtype == torch.bfloat16


def attend(qkv: Tensor, num_heads: int, scale: float, bias: Tensor | None = None) -> Tensor:
    """Return the concatenated head outputs softmax(scale Q K^T + bias) V of (B, N, 3 D): (B, N, D).

    The softmax is split: E = exp(scale Q K^T + bias), y = (E V) / rowsum(E), which divides N d_head numbers instead
    of N N and needs no row maximum. Scores beyond +-50 go through torch's softmax, so nothing overflows.

    Args:
        qkv: (B, N, 3 D), a query's, key's and value's heads side by side.
        num_heads: how many heads share D.
        scale: factor on the products of query and key.
        bias: (W, heads, N, N) for sequences that lie image by image, W windows each; masked pairs far below 0.
    """
    y: Tensor = _Attend.apply(qkv, bias, num_heads, scale)  # type: ignore[no-untyped-call]
    return y


class _Attend(torch.autograd.Function):
    """dE = E * (dy/r V^T - rowsum(dy/r * y)), the gradient of a softmax that was never normalised."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor | None, num_heads: int, scale: float) -> Tensor:
        B, N, width = qkv.shape
        split = qkv.view(B, N, 3, num_heads, -1).permute(2, 0, 3, 1, 4)
        # A copy even where a reshape would do without: q is scaled in place.
        parts = split.clone(memory_format=torch.contiguous_format).view(3, B * num_heads, N, -1)
        q, k, v = parts.unbind(0)
        q.mul_(scale)
        scores = torch.bmm(q, k.mT)
        low, high = torch.aminmax(scores)
        if bias is not None:
            scores.view(-1, *bias.shape).add_(bias)
            # Of a row only the largest score has to stay above the limit: what a mask hides may become zero.
            low, high = low + bias.amax(dim=-1).min(), high + bias.max()
        if -SAFE_SCORE < low and high < SAFE_SCORE:
            weights = scores.exp_()
        else:
            weights = scores.softmax(dim=-1)
        total = weights.sum(dim=-1, keepdim=True)  # accumulated in fp32
        y = torch.bmm(weights, v) / total
        ctx.save_for_backward(parts, weights, total, y)
        ctx.scale, ctx.num_heads = scale, num_heads
        ctx.bias_shape = bias.shape if bias is not None and ctx.needs_input_grad[1] else None
        return y.view(B, num_heads, N, -1).transpose(1, 2).reshape(B, N, width // 3)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        parts, weights, total, y = ctx.saved_tensors
        q, k, v = parts.unbind(0)  # q is scaled
        heads: int = ctx.num_heads
        B, N, width = grads[0].shape
        dy = grads[0].view(B, N, heads, -1).transpose(1, 2).reshape(B * heads, N, -1)
        dy = dy / total
        gradient = torch.empty_like(parts)
        torch.bmm(weights.mT, dy, out=gradient[2])
        # One column more subtracts the row's own part inside the product, where it costs nothing.
        row_sums = (dy * y).sum(dim=-1, keepdim=True)
        d_scores = torch.bmm(torch.cat([dy, -row_sums], -1), torch.cat([v, torch.ones_like(row_sums)], -1).mT)
        d_scores.mul_(weights)
        torch.bmm(d_scores, k, out=gradient[0])
        gradient[0].mul_(ctx.scale)
        torch.bmm(d_scores.mT, q, out=gradient[1])
        d_qkv = gradient.view(3, B, heads, N, -1).permute(1, 3, 0, 2, 4).reshape(B, N, 3 * width)
        d_bias = None if ctx.bias_shape is None else d_scores.view(-1, *ctx.bias_shape).sum(dim=0)
        return d_qkv, d_bias, None, None


@contextmanager
def dice(generator: torch.Generator) -> Iterator[None]:
    """Draw this thread's dropout on the CPU from its own generator."""
    _own.dice = generator
    try:
        yield
    finally:
        _own.dice = None


def drawn_from(x: Tensor) -> torch.Generator | None:
    """Return the generator that `dice` set for this thread; None (torch's own) outside `dice` or on another device."""
    return getattr(_own, "dice", None) if x.device.type == "cpu" else None


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zero each value with the given rate and scale the rest up; on a processor the rate is in steps of 1/256.

    torch draws one number per value, which there costs more than the layer; one random byte decides as well.
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate)
    cut = min(max(round(rate * 256), 1), 255)
    words = torch.empty(-(-x.numel() // 8), dtype=torch.int64)
    words.random_(-(2**63), None, generator=drawn_from(x))
    keep_mask = words.view(torch.uint8)[: x.numel()].view(x.shape) >= cut
    return x * keep_mask.to(x.dtype).mul_(256 / (256 - cut))
