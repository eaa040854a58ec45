"""The Vision Transformer, and DeiT as the ViT with a second token and a second head."""

from collections.abc import Mapping
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz import sinusoids
from vitviz.config import ViTConfig
from vitviz.models.fast_layers import dropout
from vitviz.models.layers import (
    AttentionPool,
    Block,
    ConvStem,
    PatchEmbed,
    build_norm,
    unfold_patches,
)
from vitviz.models.record import IntermediateRecorder, RecordRequest, Replacement
from vitviz.models.rotary_positions import RotaryPositions
from vitviz.models.token_layout import TokenLayout


class VisionTransformer(nn.Module):
    """z0 = [x_class; x1 E; ...; xN E] + E_pos, L blocks, y = LN(zL) (ViT paper, eq. 1 to 4).

    `forward(x)` gives logits; `forward(x, record=...)` also the intermediates by name, never detached.
    """

    fixed_table: Tensor | None

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        dim = config.embed_dim
        self.patch_embed = (
            ConvStem(config.in_chans, config.stem, dim, config.patch_size)
            if config.stem
            else PatchEmbed(config)
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim)) if "cls" in config.prefix_tokens else None
        self.dist_token = nn.Parameter(torch.zeros(1, 1, dim)) if config.distilled else None
        self.reg_token = (
            nn.Parameter(torch.zeros(1, config.num_registers, dim)) if config.num_registers else None
        )
        self.pos_embed = self._learned_table()
        self.pos_proj = (
            nn.Linear(config.in_chans * config.patch_size**2, dim) if config.positions == "pixels" else None
        )
        rates = torch.linspace(0, config.drop_path, config.depth, device="cpu").tolist()
        self.blocks = nn.ModuleList(Block(config, rate) for rate in rates)
        self.norm_pre = build_norm(dim, config) if config.embed_norm else nn.Identity()
        self.norm = build_norm(dim, config) if config.final_norm else nn.Identity()
        self.fc_norm = build_norm(dim, config) if config.pooled_norm else nn.Identity()
        self.attn_pool = AttentionPool(config) if config.readout == "map" else None
        self.rope = RotaryPositions(config) if config.rotary else None
        features = 2 * dim if config.readout == "cls_mean" else dim
        self.head = (
            nn.Linear(features, config.num_classes)
            if config.num_classes
            else nn.Linear(features, config.projection, bias=False)
            if config.projection
            else nn.Identity()
        )
        self.head_dist = (
            nn.Linear(dim, config.num_classes) if config.two_heads and config.num_classes else None
        )
        # Computed, not learned: it follows the model's device and is no part of its weights.
        self.register_buffer("fixed_table", self._fixed_table(config.grid), persistent=False)
        self._init_weights()

    def _learned_table(self) -> nn.Parameter | None:
        if self.config.positions != "learned":
            return None
        rows, cols = self.config.grid
        prefix = len(self.config.prefix_tokens) if self.config.position_on_prefix else 0
        return nn.Parameter(torch.zeros(1, prefix + rows * cols, self.config.embed_dim))

    def _init_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                # The authors' own choice; at widths as small as ours it learns in half the steps of std 0.02.
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if isinstance(self.patch_embed, PatchEmbed):
            # Small, so that what training writes into E is not hidden under the noise that it started from.
            nn.init.trunc_normal_(self.patch_embed.proj.weight, std=0.02)
            if self.patch_embed.proj.bias is not None:
                nn.init.zeros_(self.patch_embed.proj.bias)
        for parameter, std in (
            (self.cls_token, 1e-6),
            (self.dist_token, 1e-6),
            (self.reg_token, 1e-6),
            (self.pos_embed, 0.02),
        ):
            if parameter is not None:
                nn.init.trunc_normal_(parameter, std=std)

    def block(self, index: int) -> Block:
        """Return one of its blocks, from 0."""
        return cast(Block, self.blocks[index])

    @property
    def unbatched_records(self) -> tuple[str, ...]:
        """Names of the intermediates that do not depend on the images."""
        return () if self.config.positions == "pixels" else ("pos_embed",)

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return the sequence that an image of this size becomes.

        Raises:
            ValueError: if the patch size does not divide the image's size.
        """
        patch = self.config.patch_size
        if height_px < patch or width_px < patch or height_px % patch or width_px % patch:
            raise ValueError(
                f"patch_size {patch} must divide the image, received {height_px} x {width_px} px"
            )
        return TokenLayout(self.config.prefix_tokens, (height_px // patch, width_px // patch), patch)

    def position_table(self, grid: tuple[int, int]) -> Tensor | None:
        """Return (1, P + N, D) or, without positions on the prefix tokens, (1, N, D); None where nothing is added.

        A learned table is resized for another grid: bicubic on the patches' positions, prefix positions kept.
        """
        if self.pos_embed is not None:
            if grid == self.config.grid:
                return self.pos_embed
            options = self.config.positions_antialias, self.config.positions_align_corners
            return resize_positions(self.pos_embed, self.config.grid, grid, *options)
        if self.fixed_table is None or grid == self.config.grid:
            return self.fixed_table
        table = self._fixed_table(grid)
        return None if table is None else table.to(self.fixed_table)

    def _fixed_table(self, grid: tuple[int, int]) -> Tensor | None:
        rows, cols = grid
        dim = self.config.embed_dim
        if self.config.positions == "sincos_1d":
            prefix = len(self.config.prefix_tokens) if self.config.sincos_on_prefix else 0
            table = sinusoids.sincos_1d(prefix + rows * cols, dim)
        elif self.config.positions == "sincos_2d_sum":
            table = sinusoids.sincos_2d_sum(rows, cols, dim)
        elif self.config.positions == "sincos_2d_concat":
            table = sinusoids.sincos_2d_concat(rows, cols, dim)
        else:
            return None
        return torch.from_numpy(table)[None].float()

    def _embed(self, x: Tensor, record: IntermediateRecorder) -> Tensor:
        layout = self.layout(*x.shape[-2:])
        if x.shape[1] != self.config.in_chans:
            raise ValueError(f"the model takes {self.config.in_chans} channels, received {x.shape[1]}")
        is_stem = isinstance(self.patch_embed, ConvStem)
        patches = self.patch_embed(x, record) if is_stem else self.patch_embed(x)
        record("patch_embed", patches)
        tokens = [t.expand(len(x), -1, -1) for t in (self.cls_token, self.dist_token) if t is not None]
        if self.reg_token is not None:
            tokens.append(self.reg_token.expand(len(x), -1, -1))
        if self.pos_proj is not None:
            table = self.pos_proj(unfold_patches(x, self.config.patch_size))
        else:
            table = self.position_table(layout.grid)
        if table is None:
            z = torch.cat([*tokens, patches], dim=1)
        elif table.shape[1] == layout.num_patches:
            z = torch.cat([*tokens, patches + table], dim=1)
        else:
            z = torch.cat([*tokens, patches], dim=1) + table
        if table is not None:
            record("pos_embed", table)
        z = self.norm_pre(z)
        return dropout(record.replace("embedded", z), self.config.dropout, self.training)

    def _key_mask(self, token_mask: Tensor | None, batch: int, tokens: int) -> Tensor | None:
        if token_mask is None:
            return None
        prefix = len(self.config.prefix_tokens)
        mask = token_mask.expand(batch, -1)
        if mask.dtype != torch.bool or mask.shape[1] != tokens - prefix:
            raise ValueError(
                f"token_mask must be boolean with {tokens - prefix} patches,"
                f" received {token_mask.dtype} {tuple(token_mask.shape)}"
            )
        return torch.cat([mask.new_ones(batch, prefix), mask], dim=1)

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
            head_mask: (depth, heads), factors on the heads' outputs; 0 ablates a head.
            token_mask: (patches,) or (B, patches), boolean; dropped patches get no attention as keys.
            replaced: what takes the place of heads' outputs ('blocks.2.heads', (B, N, heads * d)), of the embedding
                or of a block's output ('embedded', 'blocks.2').

        Raises:
            ValueError: if the image, its channels, a mask or a replacement's name do not fit the model.
        """
        recorder = IntermediateRecorder(record, replaced)
        z = self._embed(x, recorder)
        if head_mask is not None and head_mask.shape != (self.config.depth, self.config.num_heads):
            raise ValueError(
                f"head_mask must be (depth, heads) = ({self.config.depth}, {self.config.num_heads}),"
                f" received {tuple(head_mask.shape)}"
            )
        key_mask = self._key_mask(token_mask, len(x), z.shape[1])
        rotations = None if self.rope is None else self.rope(self.layout(*x.shape[-2:]).grid, x.device)
        for index, block in enumerate(self.blocks):
            factors = None if head_mask is None else head_mask[index]
            rotation = None if rotations is None else rotations[index]
            z = block(z, recorder, f"blocks.{index}", factors, key_mask, rotation)
        recorder.check_replaced()
        z = self.norm(z)
        recorder("norm", z)
        logits = self.readout(z, recorder)
        recorder("logits", logits)
        return (logits, recorder.tensors) if recorder.active else logits

    def pool_tokens(self, z: Tensor, record: IntermediateRecorder | None = None) -> Tensor:
        """Return what attention pooling makes of the normed tokens (B, P + N, D): (B, D)."""
        assert self.attn_pool is not None
        tokens = z if self.config.pool_prefix else z[:, len(self.config.prefix_tokens) :]
        record = record or IntermediateRecorder(None)
        pooled: Tensor = self.attn_pool(tokens, record)
        record("pool", pooled)
        return pooled

    def readout(self, z: Tensor, record: IntermediateRecorder | None = None) -> Tensor:
        """Return the class scores of the normed tokens (B, P + N, D); the mean of both heads' logits for a DeiT.

        A model without a head returns the features that a head would read, (B, D).
        """
        record = record or IntermediateRecorder(None)
        prefix = len(self.config.prefix_tokens)
        if self.attn_pool is not None:
            features = self.pool_tokens(z, record)
        elif self.config.readout == "mean":
            features = z[:, prefix:].mean(dim=1)
        elif self.config.readout == "first_patch":
            features = z[:, prefix]
        elif self.config.readout == "cls_mean":
            features = torch.cat([z[:, 0], z[:, prefix:].mean(dim=1)], dim=-1)
        else:
            features = z[:, 0]
        logits: Tensor = self.head(self.fc_norm(features))
        if self.head_dist is not None:
            by_dist = self.head_dist(z[:, 1])
            record("logits_cls", logits)
            record("logits_dist", by_dist)
            logits = (logits + by_dist) / 2
        return logits.softmax(dim=-1) if self.config.softmax_output else logits


def resize_positions(
    table: Tensor,
    old: tuple[int, int],
    new: tuple[int, int],
    antialias: bool = True,
    align_corners: bool = False,
) -> Tensor:
    """Stretch a learned table (1, P + N, D) to another grid: bicubic, prefix positions kept."""
    prefix = table.shape[1] - old[0] * old[1]
    if prefix < 0:
        raise ValueError(
            f"the table holds {table.shape[1]} positions, fewer than the {old[0]} x {old[1]} grid"
        )
    prefix_rows, patches = table[:, :prefix], table[:, prefix:]
    grid = patches.reshape(1, *old, -1).permute(0, 3, 1, 2).float()
    grid = F.interpolate(grid, size=new, mode="bicubic", antialias=antialias, align_corners=align_corners)
    stretched = grid.permute(0, 2, 3, 1).reshape(1, new[0] * new[1], -1).to(table.dtype)
    return torch.cat([prefix_rows, stretched], dim=1)
