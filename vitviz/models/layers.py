"""Building blocks that the transformers share; attribute names are timm's, so that weights map one to one."""

from __future__ import annotations

from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.config import Embed, ViTConfig
from vitviz.models.fast_layers import attend, can_attend, drawn_from, dropout, linear, softmax
from vitviz.models.record import ATTENTION_PARTS, Recorder

ACTIVATIONS: dict[str, type[nn.Module]] = {"gelu": nn.GELU, "relu": nn.ReLU, "silu": nn.SiLU}


def drop_path(x: Tensor, rate: float, training: bool) -> Tensor:
    """Drop whole residual branches at random, image by image (stochastic depth, Huang et al. 2016)."""
    if rate == 0.0 or not training:
        return x
    keep = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1 - rate, generator=drawn_from(x))
    return x * keep / (1 - rate)


class PatchEmbed(nn.Module):
    """Cut the image into P x P patches and map each to D values (ViT paper, eq. 1).

    The weight is a Conv2d kernel (D, C, P, P). Convolving with stride P, and unfolding the patches into rows
    of C*P*P values times the same weight as a matrix, are one and the same map; 'unfold' is the second. 'reshape'
    takes the next C*P*P values of memory for a patch, which lie in rows and not in a square: a common bug.
    """

    def __init__(self, in_chans: int, embed_dim: int, patch_size: int, bias: bool, embed: Embed) -> None:
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, patch_size, patch_size, bias=bias)
        self.patch_size = patch_size
        self.embed = embed

    def forward(self, x: Tensor) -> Tensor:
        if self.embed == "conv":
            y: Tensor = self.proj(x)
            return y.flatten(2).mT  # (B, D, rows, cols) -> (B, N, D)
        weight = self.proj.weight.flatten(1)
        if self.embed == "reshape":
            return F.linear(x.reshape(len(x), -1, weight.shape[1]), weight, self.proj.bias)
        return F.linear(unfold_patches(x, self.patch_size), weight, self.proj.bias)


def unfold_patches(x: Tensor, patch_size: int) -> Tensor:
    """Return (B, C, H, W) -> (B, N, C*P*P): patches in reading order, each laid out as a Conv2d kernel is."""
    B, C, H, W = x.shape
    rows, cols = H // patch_size, W // patch_size
    x = x.reshape(B, C, rows, patch_size, cols, patch_size)
    return x.permute(0, 2, 4, 1, 3, 5).reshape(B, rows * cols, C * patch_size**2)


class SliceLinear(nn.Module):
    """Each head maps its own slice of the token: D/heads values in, `outputs` x D/heads out (recipe C)."""

    def __init__(self, dim: int, num_heads: int, outputs: int, bias: bool) -> None:
        super().__init__()
        width = dim // num_heads
        self.weight = nn.Parameter(torch.empty(outputs, num_heads, width, width))
        self.bias = nn.Parameter(torch.zeros(outputs * dim)) if bias else None
        nn.init.trunc_normal_(self.weight, std=1 / sqrt(width))

    def forward(self, x: Tensor) -> Tensor:
        outputs, heads, width, _ = self.weight.shape
        slices = x.view(*x.shape[:-1], heads, width)
        y = torch.einsum("bnhi,ohdi->bnohd", slices, self.weight).flatten(2)
        return y if self.bias is None else y + self.bias


class Attention(nn.Module):
    """Multi-head self-attention, A = softmax(Q K^T / sqrt(d_head)); A is explicit, so it can be shown."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim = config.embed_dim
        self.num_heads = config.num_heads
        self.scale = {"head": (dim // config.num_heads) ** -0.5, "width": dim**-0.5, "none": 1.0}[
            config.attention_scale
        ]
        self.qkv: nn.Module = (
            nn.Linear(dim, 3 * dim, bias=config.qkv_bias)
            if config.head_input == "all"
            else SliceLinear(dim, config.num_heads, 3, config.qkv_bias)
        )
        self.attn_drop = config.attention_dropout
        self.proj = nn.Linear(dim, dim) if config.output_projection else nn.Identity()

    def forward(
        self,
        x: Tensor,
        record: Recorder,
        name: str,
        head_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
    ) -> Tensor:
        B, N, _ = x.shape
        qkv = linear(self.qkv, x)  # (B, N, 3 D)
        inside = head_mask is not None or key_mask is not None or self.attn_drop and self.training
        if not inside and can_attend(qkv) and not record.wants_any(name, (*ATTENTION_PARTS, "heads")):
            return linear(self.proj, attend(qkv, self.num_heads, self.scale))
        q, k, v = qkv.view(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)  # (B, heads, N, d)
        # Scaling q costs N*d products instead of scaling the scores' N*N.
        scores = (q * self.scale) @ k.mT
        if key_mask is not None:
            scores = scores.masked_fill(~key_mask[:, None, None, :], float("-inf"))
        attn = softmax(scores, kept=record.wants_any(name, ("scores",)))  # (B, heads, query, key)
        for part, tensor in zip(ATTENTION_PARTS, (q, k, v, scores, attn), strict=True):
            record(f"{name}.{part}", tensor)
        attn = dropout(attn, self.attn_drop, self.training)
        y = attn @ v
        if head_mask is not None:
            y = y * head_mask[None, :, None, None]
        y = y.transpose(1, 2).reshape(B, N, -1)
        record(f"{name}.heads", y)
        return linear(self.proj, y)


class Mlp(nn.Module):
    """fc2(activation(fc1(x))), token by token."""

    def __init__(self, dim: int, hidden: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = ACTIVATIONS[activation]()
        self.fc2 = nn.Linear(hidden, dim)
        self.dropout = dropout

    def forward(self, x: Tensor, record: Recorder, name: str) -> Tensor:
        gelu = isinstance(self.act, nn.GELU)
        hidden = linear(self.fc1, x, gelu)
        hidden = hidden if gelu else self.act(hidden)
        record(f"{name}.mlp_hidden", hidden)
        return linear(self.fc2, dropout(hidden, self.dropout, self.training))


class LayerScale(nn.Module):
    """A learned gain per channel on a residual branch (Touvron et al. 2021, CaiT)."""

    def __init__(self, dim: int, value: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), value))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class Block(nn.Module):
    """z' = MSA(LN z) + z, z = MLP(LN z') + z' (ViT paper, eq. 2 and 3); post-norm: LN after each sum.

    Without `residual` nothing is added: z' = MSA(LN z), z = MLP(LN z').
    """

    def __init__(self, config: ViTConfig, drop_path_rate: float) -> None:
        super().__init__()
        dim = config.embed_dim
        self.norm1 = nn.LayerNorm(dim, eps=config.norm_eps)
        self.attn = Attention(config)
        self.norm2 = nn.LayerNorm(dim, eps=config.norm_eps)
        self.mlp = Mlp(dim, int(dim * config.mlp_ratio), config.activation, config.dropout)
        scaled = config.layer_scale
        self.ls1 = nn.Identity() if scaled is None else LayerScale(dim, scaled)
        self.ls2 = nn.Identity() if scaled is None else LayerScale(dim, scaled)
        self.pre_norm = config.norm == "pre"
        self.residual = config.residual
        self.dropout = config.dropout
        self.drop_path_rate = drop_path_rate

    def _add(self, x: Tensor, y: Tensor, scale: nn.Module) -> Tensor:
        y = dropout(y, self.dropout, self.training)
        y = drop_path(scale(y), self.drop_path_rate, self.training)
        return x + y if self.residual else y

    def forward(
        self,
        x: Tensor,
        record: Recorder,
        name: str,
        head_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
    ) -> Tensor:
        record(f"{name}.input", x)
        normed = self.norm1(x) if self.pre_norm else x
        if self.pre_norm:
            record(f"{name}.norm1", normed)
        y = self.attn(normed, record, name, head_mask, key_mask)
        record(f"{name}.attn_out", y)
        x = self._add(x, y, self.ls1)
        if not self.pre_norm:
            x = self.norm1(x)
            record(f"{name}.norm1", x)
        record(f"{name}.mid", x)
        normed = self.norm2(x) if self.pre_norm else x
        if self.pre_norm:
            record(f"{name}.norm2", normed)
        y = self.mlp(normed, record, name)
        record(f"{name}.mlp_out", y)
        x = self._add(x, y, self.ls2)
        if not self.pre_norm:
            x = self.norm2(x)
            record(f"{name}.norm2", x)
        record(name, x)
        return x
