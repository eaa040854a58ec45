"""Describe the tokens of a sequence and of each layer of a ViT or Swin, in order of depth from 1."""

from dataclasses import dataclass
from functools import singledispatch
from math import isqrt

from vitviz.config import ModelConfig, SwinConfig, ViTConfig


@dataclass(frozen=True)
class TokenLayout:
    """Names of the prefix tokens, (rows, cols) of the patch grid, and a patch's side in pixels."""

    prefix: tuple[str, ...]
    grid: tuple[int, int]
    patch_px: int

    @property
    def num_prefix_tokens(self) -> int:
        """Number of tokens before the patches."""
        return len(self.prefix)

    @property
    def num_patches(self) -> int:
        """rows * cols."""
        return self.grid[0] * self.grid[1]

    @property
    def num_tokens(self) -> int:
        """Prefix tokens and patches together."""
        return self.num_prefix_tokens + self.num_patches


@dataclass(frozen=True)
class StagePlace:
    """The position of a Swin layer: its stage, its block there, counted from 0, and the layers before the stage."""

    stage: int
    block: int
    before: int


@singledispatch
def heads_by_layer(config: ModelConfig) -> tuple[int, ...]:
    """Return how many heads each layer has; a Swin's stages differ.

    Raises:
        TypeError: if the model is neither a ViT nor a Swin.
    """
    raise TypeError(f"config must be a ViT's or a Swin's, received a {type(config).__name__}")


@heads_by_layer.register
def _(config: ViTConfig) -> tuple[int, ...]:
    return (config.num_heads,) * config.depth


@heads_by_layer.register
def _(config: SwinConfig) -> tuple[int, ...]:
    stages = zip(config.num_heads, config.depths, strict=True)
    return tuple(heads for heads, depth in stages for _ in range(depth))


def stage_of(config: SwinConfig, layer: int) -> StagePlace:
    """Return the stage of a layer.

    Raises:
        ValueError: if there is no such layer.
    """
    before = 0
    for stage, depth in enumerate(config.depths):
        if before < layer <= before + depth:
            return StagePlace(stage, layer - before - 1, before)
        before += depth
    raise ValueError(f"layer must lie in 1..{before}, received {layer}")


@singledispatch
def layout_of_layer(config: ModelConfig, layout: TokenLayout, layer: int) -> TokenLayout:
    """Return the tokens of a layer: a ViT's sequence stays, a Swin's grid halves per stage, odd sides rounded up.

    Args:
        layout: of the first layer.
    """
    return layout


@layout_of_layer.register
def _(config: SwinConfig, layout: TokenLayout, layer: int) -> TokenLayout:
    rows, cols = layout.grid
    stage = stage_of(config, layer).stage
    for _ in range(stage):
        rows, cols = -(-rows // 2), -(-cols // 2)
    return TokenLayout((), (rows, cols), layout.patch_px * 2**stage)


def list_wide_grids(patches: int) -> list[tuple[int, int]]:
    """Return the grids (rows, columns) of a square number of patches that are wider, by less than four to one."""
    return [
        (rows, patches // rows)
        for rows in range(1, isqrt(patches))
        if patches % rows == 0 and patches < 4 * rows**2
    ]
