"""How far information can have travelled: reachable sets from the windows, masks and mergings that really run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz import windows
from vitviz.config import SwinConfig
from vitviz.windows import FloatArray, IntArray, Pair

BoolArray = NDArray[np.bool_]
NEVER = 255


def window_links(index: IntArray, mask: FloatArray | None, tokens: int) -> BoolArray:
    """links[query, key]: may a block's query attend to the key, (tokens, tokens).

    Args:
        index: (windows, slots), the token in each slot; -1 for padding, which carries nothing.
        mask: (windows, slots, slots) additive, or None.
        tokens: how many there are.
    """
    links = np.zeros((tokens, tokens), dtype=bool)
    allowed = np.ones((*index.shape, index.shape[1]), bool) if mask is None else mask == 0
    window, query, key = np.nonzero(allowed & (index >= 0)[:, :, None] & (index >= 0)[:, None, :])
    links[index[window, query], index[window, key]] = True
    return links


def merge_links(grid: Pair) -> BoolArray:
    """links[merged token, token] of patch merging, 2 x 2 to one."""
    rows, cols = grid
    row, col = np.divmod(np.arange(rows * cols), cols)
    merged = row // 2 * -(-cols // 2) + col // 2
    links = np.zeros((-(-rows // 2) * -(-cols // 2), rows * cols), dtype=bool)
    links[merged, np.arange(rows * cols)] = True
    return links


def convolution_links(grid: Pair, radius: int) -> BoolArray:
    """links[output, input] of convolutions that together reach `radius` cells: a CNN's receptive field."""
    row, col = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    near: BoolArray = (np.abs(row[:, None] - row) <= radius) & (np.abs(col[:, None] - col) <= radius)
    return near


def follow(steps: Sequence[BoolArray]) -> list[BoolArray]:
    """reach[output, input] after each step: the Boolean product of the links so far."""
    reach: list[BoolArray] = []
    for links in steps:
        reach.append(links if not reach else (links.astype(np.float32) @ reach[-1].astype(np.float32)) > 0)
    return reach


def first_block(steps: Sequence[BoolArray]) -> NDArray[np.uint8]:
    """After how many blocks an input can have reached an output, (output, input); 0: itself, 255: not by the last.

    Every token may attend to itself, so what is reached stays reached.
    """
    tokens = len(steps[0])
    hops = np.full((tokens, tokens), NEVER, np.uint8)
    for number, reach in reversed(list(enumerate(follow(steps), start=1))):
        hops[reach] = number
    np.fill_diagonal(hops, 0)
    return hops


def alternate(plain: BoolArray, shifted: BoolArray, blocks: int) -> list[BoolArray]:
    """The links of `blocks` blocks in a row: regular windows first, shifted ones in every second block."""
    return [shifted if number % 2 else plain for number in range(blocks)]


@dataclass(frozen=True, eq=False)
class BlockReach:
    """What one block of a Swin can have read: its name, its grid, and reach[token, patch of the picture]."""

    name: str
    grid: Pair
    reach: BoolArray


def swin_reach(config: SwinConfig, grid: Pair, masked: bool = True) -> list[BlockReach]:
    """After every block of a Swin: which patches can have reached which token, through windows and mergings.

    Args:
        config: the model's shape.
        grid: (rows, cols) of the first stage for this picture.
        masked: False for a model whose author forgot the mask.
    """
    side = config.image_size // config.patch_size
    native, steps, names, grids = (side, side), [], [], []
    pending: BoolArray | None = None
    for stage, depth in enumerate(config.depths):
        if stage:
            pending = merge_links(grid)
            grid, native = (-(-grid[0] // 2), -(-grid[1] // 2)), (-(-native[0] // 2), -(-native[1] // 2))
        for block in range(depth):
            plan = windows.plan(grid, native, config.window_size, bool(block % 2), config.convention)
            links = window_links(plan.index, plan.mask if masked else None, grid[0] * grid[1])
            if pending is not None:
                links, pending = (links.astype(np.float32) @ pending.astype(np.float32)) > 0, None
            steps.append(links)
            names.append(f"layers.{stage}.blocks.{block}")
            grids.append(grid)
    return [BlockReach(*found) for found in zip(names, grids, follow(steps), strict=True)]
