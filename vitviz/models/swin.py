"""The Swin Transformer: attention inside windows, shifted in every second block (Liu et al. 2021)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz import shifted_windows
from vitviz.config import SwinConfig
from vitviz.config_models import BIAS_UNITS, mlp_width
from vitviz.models.fast_layers import dropout, linear, softmax
from vitviz.models.layers import Mlp, drop_path
from vitviz.models.record import ATTENTION_PARTS, IntermediateRecorder, RecordRequest, Replacement
from vitviz.models.token_layout import TokenLayout


class _Rearrange(torch.autograd.Function):
    """tokens[:, index], where -1 gives zeros; `inverse` is the way back, so the gradient is a gather too."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, index: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(index, inverse)
        y = tokens.index_select(1, index.clamp_min(0))
        return y.masked_fill_((index < 0)[:, None], 0) if len(index) > tokens.shape[1] else y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        index, inverse = ctx.saved_tensors
        return _Rearrange.apply(grads[0], inverse, index), None, None  # type: ignore[no-untyped-call]


class WindowAttention(nn.Module):
    """A = softmax(Q K^T / sqrt(d_head) + B + mask) in each window, B by relative position (eq. 4)."""

    def __init__(self, dim: int, num_heads: int, window: shifted_windows.Pair, config: SwinConfig) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.attn_drop = config.attention_dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=config.qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self._make_bias(window, config)
        index = torch.from_numpy(shifted_windows.relative_position_index(window))
        self.register_buffer("relative_position_index", index, persistent=False)

    def _make_bias(self, window: shifted_windows.Pair, config: SwinConfig) -> None:
        rows = (2 * window[0] - 1) * (2 * window[1] - 1)
        self.relative_position_bias_table = nn.Parameter(torch.zeros(rows, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def relative_position_bias(self) -> Tensor:
        """Return (heads, M M, M M), the learned bias of every pair of a window."""
        index: Tensor = self.relative_position_index  # type: ignore[assignment]
        return self.relative_position_bias_table[index].permute(2, 0, 1)

    def window_bias(self, mask: Tensor | None) -> Tensor:
        """Return (windows or 1, heads, M M, M M), the learned bias plus the mask of shifted windows."""
        bias = self.relative_position_bias()[None]
        return bias if mask is None else bias + mask.to(bias.dtype)[:, None]

    def scaled_products(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the scores without bias, (B, windows, heads, M*M, M*M)."""
        scores: Tensor = (q * self.scale) @ k.mT
        return scores

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        record: IntermediateRecorder,
        name: str,
        head_mask: Tensor | None,
    ) -> Tensor:
        B, W, N, C = x.shape  # images, windows, slots of a window, channels
        qkv = linear(self.qkv, x)
        q, k, v = qkv.view(B, W, N, 3, self.num_heads, -1).permute(3, 0, 1, 4, 2, 5).unbind(0)
        scores = self.scaled_products(q, k) + self.window_bias(mask)  # (B, windows, heads, M*M, M*M)
        attn = softmax(scores, keep_scores=record.wants_any(name, ("scores",)))
        for part, tensor in zip(ATTENTION_PARTS, (q, k, v, scores, attn), strict=True):
            record(f"{name}.{part}", tensor)
        attn = dropout(attn, self.attn_drop, self.training)
        y = attn @ v
        if head_mask is not None:
            y = y * head_mask[:, None, None]
        y = record.replace(f"{name}.heads", y.transpose(2, 3).reshape(B, W, N, C))
        return linear(self.proj, y)


class CosineWindowAttention(WindowAttention):
    """A = softmax(cos(q, k) / tau + B + mask), B a small network of log-spaced offsets (Liu et al. 2022, Swin V2)."""

    def __init__(
        self, dim: int, num_heads: int, window: shifted_windows.Pair, config: SwinConfig, pretrained: int
    ) -> None:
        self.pretrained = pretrained  # side of the windows that the network was trained for; 0: these
        super().__init__(dim, num_heads, window, config)

    def _make_bias(self, window: shifted_windows.Pair, config: SwinConfig) -> None:
        self.logit_scale = nn.Parameter(torch.full((self.num_heads, 1, 1), math.log(10)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, BIAS_UNITS), nn.ReLU(), nn.Linear(BIAS_UNITS, self.num_heads, bias=False)
        )
        offsets = torch.from_numpy(shifted_windows.log_offsets(window, self.pretrained))
        self.register_buffer("offsets", offsets, persistent=False)

    def relative_position_bias(self) -> Tensor:
        """Return (heads, M M, M M): 16 sigmoid(network of the offset), of every pair of a window."""
        index: Tensor = self.relative_position_index  # type: ignore[assignment]
        table: Tensor = self.cpb_mlp(self.offsets)
        return 16 * table[index].permute(2, 0, 1).sigmoid()

    def scaled_products(self, q: Tensor, k: Tensor) -> Tensor:
        """Return the cosines of queries and keys over the learned temperature of a head, at least 0.01."""
        factor = self.logit_scale.clamp(max=math.log(100)).exp()
        cosines: Tensor = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT
        return cosines * factor


class SwinBlock(nn.Module):
    """z' = (S)W-MSA(LN z) + z, z = MLP(LN z') + z' (eq. 3), on a grid (B, H, W, C); V2 norms after the sublayers."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        native_grid: shifted_windows.Pair,
        shifted: bool,
        rate: float,
        config: SwinConfig,
        pretrained: int = 0,
    ) -> None:
        super().__init__()
        self.native_grid = native_grid
        self.window_size = config.window_size
        self.shifted = shifted
        self.convention: shifted_windows.Convention = config.convention
        self.masked = config.masked
        self.dropout = config.dropout
        self.drop_path_rate = rate
        window = self.plan(native_grid).window
        self.norm1 = nn.LayerNorm(dim, eps=config.norm_eps)
        self.res_post = config.cosine
        self.attn = (
            CosineWindowAttention(dim, num_heads, window, config, pretrained)
            if config.cosine
            else WindowAttention(dim, num_heads, window, config)
        )
        self.norm2 = nn.LayerNorm(dim, eps=config.norm_eps)
        self.mlp = Mlp(dim, mlp_width(dim, config.mlp_ratio), "gelu", config.dropout)

    def plan(self, grid: shifted_windows.Pair) -> shifted_windows.WindowPlan:
        """Return the window bookkeeping of this block on a grid of (rows, cols) patches."""
        layout = shifted_windows.plan(grid, self.native_grid, self.window_size, self.shifted, self.convention)
        return layout if self.masked else replace(layout, mask=None)

    def _branch(self, y: Tensor) -> Tensor:
        y = dropout(y, self.dropout, self.training)
        return drop_path(y, self.drop_path_rate, self.training)

    def _attend(self, x: Tensor, record: IntermediateRecorder, name: str, head_mask: Tensor | None) -> Tensor:
        B, H, W, C = x.shape
        plan = self.plan((H, W))
        # Copies: the plan's arrays are shared and frozen, a tensor may not alias them.
        index = torch.tensor(plan.index, device=x.device)
        inverse = torch.tensor(plan.inverse, device=x.device)
        mask = None if plan.mask is None else torch.tensor(plan.mask, device=x.device)
        record(f"{name}.window_index", index)
        if mask is not None:
            record(f"{name}.mask", mask)
        inside: Tensor = _Rearrange.apply(x.reshape(B, H * W, C), index.view(-1), inverse)  # type: ignore[no-untyped-call]
        y = self.attn(inside.view(B, *index.shape, C), mask, record, name, head_mask)
        back: Tensor = _Rearrange.apply(y.flatten(1, 2), inverse, index.view(-1))  # type: ignore[no-untyped-call]
        return back.view(B, H, W, C)

    def forward(
        self, x: Tensor, record: IntermediateRecorder, name: str, head_mask: Tensor | None = None
    ) -> Tensor:
        record(f"{name}.input", x)
        y = self._attend(x if self.res_post else self.norm1(x), record, name, head_mask)
        record(f"{name}.attn_out", y)
        x = x + self._branch(self.norm1(y) if self.res_post else y)
        record(f"{name}.mid", x)
        y = self.mlp(x if self.res_post else self.norm2(x), record, name)
        record(f"{name}.mlp_out", y)
        return record.replace(name, x + self._branch(self.norm2(y) if self.res_post else y))


class PatchMerging(nn.Module):
    """2 x 2 neighbours become one token: concatenate to 4C, normalise, map to 2C without bias; V2 maps first."""

    def __init__(self, dim: int, norm_eps: float, norm_last: bool = False) -> None:
        super().__init__()
        self.norm_last = norm_last
        self.norm = nn.LayerNorm((2 if norm_last else 4) * dim, eps=norm_eps)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        _, H, W, _ = x.shape
        if H % 2 or W % 2:
            x = F.pad(x, (0, 0, 0, W % 2, 0, H % 2))
        quads = torch.cat([x[:, r::2, c::2] for c in (0, 1) for r in (0, 1)], dim=-1)
        if self.norm_last:
            return self.norm(linear(self.reduction, quads))  # type: ignore[no-any-return]
        return linear(self.reduction, self.norm(quads))


class SwinStage(nn.Module):
    """Blocks of one resolution; every stage but the first begins by merging patches."""

    def __init__(
        self, stage: int, native_grid: shifted_windows.Pair, rates: list[float], config: SwinConfig
    ) -> None:
        super().__init__()
        dim = config.embed_dim * 2**stage
        self.downsample = PatchMerging(dim // 2, config.norm_eps, config.cosine) if stage else nn.Identity()
        pretrained = config.pretrained_windows[stage] if config.pretrained_windows else 0
        self.blocks = nn.ModuleList(
            SwinBlock(
                dim,
                config.num_heads[stage],
                native_grid,
                bool(index % 2),
                rate,
                config,
                pretrained=pretrained,
            )
            for index, rate in enumerate(rates)
        )

    def forward(self, x: Tensor, record: IntermediateRecorder, name: str, head_mask: Tensor | None) -> Tensor:
        x = self.downsample(x)
        for index, block in enumerate(self.blocks):
            x = block(x, record, f"{name}.blocks.{index}", None if head_mask is None else head_mask[index])
        record(name, x)
        return x


class SwinPatchEmbed(nn.Module):
    """P x P patches mapped to C values by a strided convolution, then normalised: (B, H, W, C)."""

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.proj = nn.Conv2d(config.in_chans, config.embed_dim, config.patch_size, config.patch_size)
        self.norm = nn.LayerNorm(config.embed_dim, eps=config.norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.proj(x).permute(0, 2, 3, 1))  # type: ignore[no-any-return]


class SwinHead(nn.Module):
    """Mean over the grid, then a linear map; without classes the mean itself."""

    def __init__(self, dim: int, num_classes: int) -> None:
        super().__init__()
        self.fc = nn.Linear(dim, num_classes) if num_classes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.mean(dim=(1, 2)))  # type: ignore[no-any-return]


class SwinTransformer(nn.Module):
    """Patches, stages of (shifted-)window blocks with merging between them, mean, linear head.

    `forward(x)` gives logits; `forward(x, record=...)` also the intermediates by name, never detached.
    Any image size is taken; the conventions differ where windows do not tile the grid (`vitviz.shifted_windows`).
    """

    unbatched_records = ("*.window_index", "*.mask")

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.config = config
        self.patch_embed = SwinPatchEmbed(config)
        rates = iter(torch.linspace(0, config.drop_path, sum(config.depths), device="cpu").tolist())
        side = config.image_size // config.patch_size
        stages = []
        for stage, depth in enumerate(config.depths):
            stages.append(SwinStage(stage, (side, side), [next(rates) for _ in range(depth)], config))
            side = -(-side // 2)
        self.layers = nn.ModuleList(stages)
        dim = config.embed_dim * 2 ** (len(config.depths) - 1)
        self.norm = nn.LayerNorm(dim, eps=config.norm_eps)
        self.head = SwinHead(dim, config.num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def block(self, stage: int, index: int) -> SwinBlock:
        """Return one of a stage's blocks; both count from 0."""
        return cast(SwinBlock, cast(SwinStage, self.layers[stage]).blocks[index])

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return the first stage's grid; torchvision's convention drops what is left beyond the last whole patch.

        Raises:
            ValueError: if the image is smaller than a patch or, in timm's convention, not whole patches.
        """
        patch = self.config.patch_size
        if height_px < patch or width_px < patch:
            raise ValueError(
                f"an image of at least {patch} x {patch} px is needed, received {height_px} x {width_px}"
            )
        if self.config.convention == "timm" and (height_px % patch or width_px % patch):
            raise ValueError(
                f"patch_size {patch} must divide the image, received {height_px} x {width_px} px"
            )
        return TokenLayout((), (height_px // patch, width_px // patch), patch)

    def forward(
        self,
        x: Tensor,
        record: RecordRequest = None,
        *,
        head_mask: Tensor | None = None,
        token_mask: Tensor | None = None,
        replaced: Mapping[str, Replacement] | None = None,
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the logits of images (B, C, H, W), and with `record` the named intermediates.

        Args:
            x: (B, C, H, W), prepared as the model's `Preparation` says.
            record: True, names (with * and ?), or an observer called as each intermediate appears.
            head_mask: (all blocks, most heads), factors on the heads' outputs, blocks in order of depth; a
                stage of fewer heads reads the first columns.
            token_mask: refused: a merged token mixes four patches, so a patch cannot be dropped as a key.
            replaced: what takes the place of heads' outputs ('layers.0.blocks.1.heads', (B, windows, M M, C)) of the
                embedding or of a block's output ('patch_embed', 'layers.0.blocks.1', (B, H, W, C)).

        Raises:
            ValueError: if the image, its channels, the head mask or a replacement's name do not fit, or a token mask
                is given.
        """
        if token_mask is not None:
            raise ValueError(
                "Swin takes no token_mask: after merging, one token mixes four patches, so no key is one"
                " patch; blank the patches in the image instead"
            )
        if x.shape[1] != self.config.in_chans:
            raise ValueError(f"the model takes {self.config.in_chans} channels, received {x.shape[1]}")
        self.layout(*x.shape[-2:])
        expected = (sum(self.config.depths), max(self.config.num_heads))
        if head_mask is not None and head_mask.shape != expected:
            raise ValueError(
                f"head_mask must be (blocks, heads) = {expected}, received {tuple(head_mask.shape)}"
            )
        recorder = IntermediateRecorder(record, replaced)
        x = recorder.replace("patch_embed", self.patch_embed(x))
        x = self._stages(x, recorder, head_mask)
        recorder.check_replaced()
        x = self.norm(x)
        recorder("norm", x)
        logits: Tensor = self.head(x)
        recorder("logits", logits)
        return (logits, recorder.tensors) if recorder.active else logits

    def _stages(self, x: Tensor, recorder: IntermediateRecorder, head_mask: Tensor | None) -> Tensor:
        first = 0
        for stage, layer in enumerate(self.layers):
            last = first + self.config.depths[stage]
            factors = None if head_mask is None else head_mask[first:last, : self.config.num_heads[stage]]
            x = layer(x, recorder, f"layers.{stage}", factors)
            first = last
        return x
