"""Building blocks that the transformers share; attribute names are timm's, so that weights map one to one."""

from collections.abc import Callable
from functools import partial
from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.config import ViTConfig
from vitviz.config_models import mlp_width
from vitviz.models.fast_layers import dropout, get_generator, linear, softmax
from vitviz.models.record import ATTENTION_PARTS, IntermediateRecorder

Rotation = tuple[Tensor, Tensor]  # cosines and sines (N, d_head) of the patches' angles


class QuickGELU(nn.Module):
    """x * sigmoid(1.702 x), OpenAI's approximation of GELU."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),
    "quick_gelu": QuickGELU,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
}


def drop_path(x: Tensor, rate: float, training: bool) -> Tensor:
    """Drop whole residual branches at random, image by image (stochastic depth, Huang et al. 2016)."""
    if rate == 0.0 or not training:
        return x
    keep = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1 - rate, generator=get_generator(x))
    return x * keep / (1 - rate)


class PatchEmbed(nn.Module):
    """Cut the image into P x P patches and map each to D values (ViT paper, eq. 1).

    The weight is a Conv2d kernel (D, C, P, P). Convolving with stride P, and unfolding the patches into rows
    of C*P*P values times the same weight as a matrix, are one and the same map; 'unfold' is the second. 'reshape'
    takes the next C*P*P values of memory for a patch, which lie in rows and not in a square: a common bug.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        patch_size, dim = config.patch_size, config.embed_dim
        self.proj = nn.Conv2d(config.in_chans, dim, patch_size, patch_size, bias=config.embed_bias)
        self.patch_size = patch_size
        self.embed = config.embed
        if config.patch_norms:
            self.norm_pixels = nn.LayerNorm(config.in_chans * patch_size**2, eps=config.norm_eps)
        normed = config.patch_norms or config.patch_norm
        self.norm = build_norm(dim, config) if normed else nn.Identity()
        self.normed = config.patch_norms

    def forward(self, x: Tensor) -> Tensor:
        if self.normed:
            pixels = self.norm_pixels(unfold_patches(x, self.patch_size))
            return self.norm(F.linear(pixels, self.proj.weight.flatten(1), self.proj.bias))  # type: ignore[no-any-return]
        if self.embed == "conv":
            y: Tensor = self.proj(x)
            return self.norm(y.flatten(2).mT)  # type: ignore[no-any-return]  # (B, D, rows, cols) -> (B, N, D)
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


def build_norm(width: int, config: ViTConfig) -> nn.Module:
    """Return a norm of a ViT's tokens: LayerNorm, or RMSNorm without mean and bias."""
    kind = nn.RMSNorm if config.norm_layer == "rms" else nn.LayerNorm
    return kind(width, eps=config.norm_eps)


def rotate(x: Tensor, rotation: Rotation, interleaved: bool = False) -> Tensor:
    """Rotate the patches' part of (B, heads, P + N, d_head); prefix tokens have no position.

    A pair is made of values k and k + d_head / 2, or interleaved of values 2k and 2k + 1.
    """
    cos, sin = rotation
    count = cos.shape[-2]
    prefix, patches = x[..., :-count, :], x[..., -count:, :]
    if interleaved:
        crossed = torch.stack([-patches[..., 1::2], patches[..., ::2]], dim=-1).flatten(-2)
    else:
        first, second = patches.chunk(2, dim=-1)
        crossed = torch.cat([-second, first], dim=-1)
    return torch.cat([prefix, patches * cos.to(x.dtype) + crossed * sin.to(x.dtype)], dim=-2)


class Attention(nn.Module):
    """Multi-head self-attention, A = softmax(Q K^T / sqrt(d_head)); A is explicit, so it can be shown."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim, per_head = config.embed_dim, config.width_per_head
        inner = per_head * config.num_heads
        self.num_heads = config.num_heads
        self.scale = {"head": per_head**-0.5, "width": dim**-0.5, "none": 1.0}[config.attention_scale]
        self.qkv: nn.Module = (
            nn.Linear(dim, 3 * inner, bias=config.qkv_bias)
            if config.head_input == "all"
            else SliceLinear(dim, config.num_heads, 3, config.qkv_bias)
        )
        self.q_norm = build_norm(per_head, config) if config.qk_norm else None
        self.k_norm = build_norm(per_head, config) if config.qk_norm else None
        self.norm = build_norm(inner, config) if config.attn_norm else nn.Identity()
        self.interleaved = config.rope_interleaved
        self.attn_drop = config.attention_dropout
        self.proj = nn.Linear(inner, dim) if config.output_projection else nn.Identity()

    def forward(
        self,
        x: Tensor,
        record: IntermediateRecorder,
        name: str,
        head_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        rotation: Rotation | None = None,
    ) -> Tensor:
        B, N, _ = x.shape
        qkv = linear(self.qkv, x)  # (B, N, 3 D)
        q, k, v = qkv.view(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)  # (B, heads, N, d)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        if rotation is not None:
            q, k = rotate(q, rotation, self.interleaved), rotate(k, rotation, self.interleaved)
        # Scaling q costs N*d products instead of scaling the scores' N*N.
        scores = (q * self.scale) @ k.mT
        if key_mask is not None:
            scores = scores.masked_fill(~key_mask[:, None, None, :], float("-inf"))
        attn = softmax(scores, keep_scores=record.wants_any(name, ("scores",)))  # (B, heads, query, key)
        for part, tensor in zip(ATTENTION_PARTS, (q, k, v, scores, attn), strict=True):
            record(f"{name}.{part}", tensor)
        attn = dropout(attn, self.attn_drop, self.training)
        y = attn @ v
        if head_mask is not None:
            y = y * head_mask[None, :, None, None]
        y = y.transpose(1, 2).reshape(B, N, -1)
        return linear(self.proj, self.norm(record.replace(f"{name}.heads", y)))


class Mlp(nn.Module):
    """fc2(activation(fc1(x))), token by token; gated: fc1 gives gate and up, fc2(activation(gate) * up)."""

    def __init__(
        self,
        dim: int,
        hidden: int,
        activation: str,
        rate: float,
        gated: bool = False,
        norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.gated = gated
        self.fc1 = nn.Linear(dim, 2 * hidden if gated else hidden)
        self.act = ACTIVATIONS[activation]()
        self.norm = norm or nn.Identity()
        self.fc2 = nn.Linear(hidden, dim)
        self.dropout = rate

    def forward(self, x: Tensor, record: IntermediateRecorder, name: str) -> Tensor:
        gelu = isinstance(self.act, nn.GELU) and self.act.approximate == "none" and not self.gated
        hidden = linear(self.fc1, x, gelu)
        if self.gated:
            gate, up = hidden.chunk(2, dim=-1)
            hidden = self.act(gate) * up
        elif not gelu:
            hidden = self.act(hidden)
        record(f"{name}.mlp_hidden", hidden)
        return linear(self.fc2, self.norm(dropout(hidden, self.dropout, self.training)))


class LayerScale(nn.Module):
    """A learned gain per channel on a residual branch (Touvron et al. 2021, CaiT)."""

    def __init__(self, dim: int, initial: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), initial))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gamma


class Block(nn.Module):
    """z' = MSA(LN z) + z, z = MLP(LN z') + z' (ViT paper, eq. 2 and 3); post-norm: LN after each sum.

    With 'res_post' the norm follows the sublayer, before the sum: z' = LN(MSA(z)) + z, z = LN(MLP(z')) + z'.
    Without `residual` nothing is added: z' = MSA(LN z), z = MLP(LN z').
    """

    def __init__(self, config: ViTConfig, drop_path_rate: float) -> None:
        super().__init__()
        dim = config.embed_dim
        self.norm1 = build_norm(dim, config)
        self.attn = Attention(config)
        self.norm2 = build_norm(dim, config)
        hidden = mlp_width(dim, config.mlp_ratio)
        inner_norm = build_norm(hidden, config) if config.mlp_norm else None
        self.mlp = Mlp(dim, hidden, config.activation, config.dropout, config.gated_mlp, inner_norm)
        scaled = config.layer_scale
        self.ls1 = nn.Identity() if scaled is None else LayerScale(dim, scaled)
        self.ls2 = nn.Identity() if scaled is None else LayerScale(dim, scaled)
        self.norm_place = config.norm
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
        record: IntermediateRecorder,
        name: str,
        head_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        rotation: Rotation | None = None,
    ) -> Tensor:
        record(f"{name}.input", x)
        y = self.attn(self._norm_at("pre", 1, x, record, name), record, name, head_mask, key_mask, rotation)
        record(f"{name}.attn_out", y)
        x = self._add(x, self._norm_at("res_post", 1, y, record, name), self.ls1)
        x = self._norm_at("post", 1, x, record, name)
        record(f"{name}.mid", x)
        y = self.mlp(self._norm_at("pre", 2, x, record, name), record, name)
        record(f"{name}.mlp_out", y)
        x = self._add(x, self._norm_at("res_post", 2, y, record, name), self.ls2)
        return record.replace(name, self._norm_at("post", 2, x, record, name))

    def _norm_at(self, place: str, index: int, x: Tensor, record: IntermediateRecorder, name: str) -> Tensor:
        """Return the tokens after this block's norm 1 or 2 if it stands at this place, else as they are."""
        if self.norm_place != place:
            return x
        normed: Tensor = (self.norm1 if index == 1 else self.norm2)(x)
        record(f"{name}.norm{index}", normed)
        return normed


class AttentionPool(nn.Module):
    """Pool tokens by the attention of one learned query, then x + MLP(LN x) (Zhai et al. 2022 and 2023, SigLIP)."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        dim = config.embed_dim
        self.num_heads = config.pool_heads or config.num_heads
        self.latent = nn.Parameter(torch.zeros(1, 1, dim))
        nn.init.trunc_normal_(self.latent, std=dim**-0.5)
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm = build_norm(dim, config)
        hidden = mlp_width(dim, config.pool_ratio or config.mlp_ratio)
        self.mlp = Mlp(dim, hidden, config.pool_activation, config.dropout)

    def forward(self, x: Tensor, record: IntermediateRecorder) -> Tensor:
        """Return (B, D) of tokens (B, N, D); 'pool.attn' (B, heads, 1, N) is the query's attention."""
        B, N, _ = x.shape
        q = linear(self.q, self.latent).view(1, 1, self.num_heads, -1).transpose(1, 2)
        k, v = linear(self.kv, x).view(B, N, 2, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = softmax((q * q.shape[-1] ** -0.5) @ k.mT, keep_scores=False)
        record("pool.attn", attn)
        y = linear(self.proj, (attn @ v).transpose(1, 2).reshape(B, 1, -1))
        pooled: Tensor = y + self.mlp(self.norm(y), record, "pool")
        return pooled[:, 0]


class ConvStem(nn.Module):
    """3 x 3 convolutions down to the patch grid, then a 1 x 1 map to D (Xiao et al. 2021).

    The last h = ceil(log2(P)) convolutions halve the image, those before them keep its size. Where P is no power
    of 2 the image is enlarged first, so that every patch has 2^h px: 28 px in patches of 7 become 32.
    """

    def __init__(self, in_chans: int, widths: tuple[int, ...], embed_dim: int, patch_size: int) -> None:
        super().__init__()
        halvings = (patch_size - 1).bit_length()
        layers: list[nn.Module] = []
        channels = in_chans
        for index, width in enumerate(widths):
            stride = 2 if index >= len(widths) - halvings else 1
            layers += [
                nn.Conv2d(channels, width, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
            channels = width
        self.stem = nn.Sequential(*layers)
        self.proj = nn.Conv2d(channels, embed_dim, 1)
        self.patch_size = patch_size
        self.stride = 2**halvings

    def enlarged(self, x: Tensor) -> Tensor:
        """Return the image as the first convolution reads it."""
        if self.stride != self.patch_size:
            rows, cols = (side // self.patch_size for side in x.shape[-2:])
            x = F.interpolate(x, size=(rows * self.stride, cols * self.stride), mode="bilinear")
        return x.contiguous(memory_format=torch.channels_last)  # oneDNN's kernels are faster so

    def forward(self, x: Tensor, record: IntermediateRecorder | None = None) -> Tensor:
        record = record or IntermediateRecorder(None)
        y = self.enlarged(x)
        record("patch_embed.enlarged", y)
        for index, layer in enumerate(self.stem):
            y = layer(y)
            if isinstance(layer, nn.ReLU):
                record(f"patch_embed.stem.{index // 3}", y)
        tokens: Tensor = self.proj(y)
        return tokens.flatten(2).mT  # (B, D, rows, cols) -> (B, N, D)
