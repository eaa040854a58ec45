"""Train attention in bf16 on a processor faster than the plain layers do; the same mathematics."""

from typing import Any

import torch
from torch import Tensor, nn

from vitviz.models.fast_layers import linear
from vitviz.models.layers import Attention, Rotation
from vitviz.models.record import ATTENTION_PARTS, IntermediateRecorder
from vitviz.models.swin import WindowAttention

# exp(50) = 5e21: divided by a row's sum of it, a gradient of 1e-10 is still an ordinary bf16 number (1e-38 at least).
SAFE_SCORE = 50.0


def use_fast_attention(model: nn.Module) -> None:
    """Replace the attention of a model in training, where torch's bf16 softmax and casts are the slow part."""
    for module in model.modules():
        if type(module) in _FAST_FORMS:
            module.__class__ = _FAST_FORMS[type(module)]


def _is_inside_needed(layer: nn.Module, record: IntermediateRecorder, name: str, rate: float) -> bool:
    return rate > 0 and layer.training or record.wants_any(name, (*ATTENTION_PARTS, "heads"))


class FastAttention(Attention):
    """A ViT's attention by `attend`, unless something inside of it is asked for or changed."""

    def forward(
        self,
        x: Tensor,
        record: IntermediateRecorder,
        name: str,
        head_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        rotation: Rotation | None = None,
    ) -> Tensor:
        is_changed = any(change is not None for change in (head_mask, key_mask, rotation, self.q_norm))
        if is_changed or _is_inside_needed(self, record, name, self.attn_drop):
            return super().forward(x, record, name, head_mask, key_mask, rotation)
        return linear(self.proj, self.norm(attend(linear(self.qkv, x), self.num_heads, self.scale)))


class FastWindowAttention(WindowAttention):
    """A Swin's attention by `attend`, unless something inside of it is asked for or changed."""

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        record: IntermediateRecorder,
        name: str,
        head_mask: Tensor | None,
    ) -> Tensor:
        if head_mask is not None or _is_inside_needed(self, record, name, self.attn_drop):
            return super().forward(x, mask, record, name, head_mask)
        qkv = linear(self.qkv, x)
        y = attend(qkv.flatten(0, 1), self.num_heads, self.scale, self.window_bias(mask))
        return linear(self.proj, y.view(x.shape))


_FAST_FORMS: dict[type[nn.Module], type[nn.Module]] = {
    Attention: FastAttention,
    WindowAttention: FastWindowAttention,
}


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
