"""Compute which tokens can influence each other, from a model's windows, masks and mergings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz import shifted_windows
from vitviz.config import SwinConfig
from vitviz.shifted_windows import FloatArray, IntArray, Pair

BoolArray = NDArray[np.bool_]
NEVER = 255
NOTHING = 1e-20  # of the largest gradient: a score of -100 leaves e^-100 = 4e-44, which counts as nothing


def window_links(index: IntArray, mask: FloatArray | None, tokens: int) -> BoolArray:
    """Return links[query, key] (tokens, tokens), True where a query can attend to a key.

    Args:
        index: (windows, slots), the token in each slot; -1 for padding, which carries nothing.
        mask: (windows, slots, slots) additive, or None.
    """
    links = np.zeros((tokens, tokens), dtype=bool)
    allowed = np.ones((*index.shape, index.shape[1]), bool) if mask is None else mask == 0
    window, query, key = np.nonzero(allowed & (index >= 0)[:, :, None] & (index >= 0)[:, None, :])
    links[index[window, query], index[window, key]] = True
    return links


def convolution_links(grid: Pair, radius: int) -> BoolArray:
    """Return links[output, input] of convolutions that reach `radius` cells: a CNN's receptive field."""
    row, col = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    near: BoolArray = (np.abs(row[:, None] - row) <= radius) & (np.abs(col[:, None] - col) <= radius)
    return near


def follow(steps: Sequence[BoolArray]) -> list[BoolArray]:
    """Return reach[output, input] after each step, the Boolean product of the links so far."""
    reach: list[BoolArray] = []
    for links in steps:
        reach.append(links if not reach else (links.astype(np.float32) @ reach[-1].astype(np.float32)) > 0)
    return reach


def first_block(steps: Sequence[BoolArray]) -> NDArray[np.uint8]:
    """Return the number of blocks after which an input reaches an output, (output, input); 0: itself, 255: never.

    Every token may attend to itself, so what is reached stays reached.
    """
    tokens = len(steps[0])
    hops = np.full((tokens, tokens), NEVER, np.uint8)
    for number, reach in reversed(list(enumerate(follow(steps), start=1))):
        hops[reach] = number
    np.fill_diagonal(hops, 0)
    return hops


def alternate(plain: BoolArray, shifted: BoolArray, blocks: int) -> list[BoolArray]:
    """Return the links of `blocks` blocks in a row: regular windows first, shifted ones in every second block."""
    return [shifted if number % 2 else plain for number in range(blocks)]


@dataclass(frozen=True, eq=False)
class WindowBlock:
    """One block of a Swin: its grid, windows and mask.

    Attributes:
        name: such as 'layers.0.blocks.1'.
        grid: (rows, cols) of its tokens.
        index: (windows, slots), the token in each slot, -1 for padding.
        allowed: (windows, query slot, key slot).
        merged_from: (rows, cols) before the merging that leads into it, or None.
    """

    name: str
    grid: Pair
    index: IntArray
    allowed: BoolArray
    merged_from: Pair | None


def swin_blocks(config: SwinConfig, grid: Pair) -> list[WindowBlock]:
    """Return the blocks of a Swin in order of depth, with their windows and masks.

    Args:
        config: the model's shape; its windows are masked.
        grid: (rows, cols) of the first stage for this image.
    """
    side = config.image_size // config.patch_size
    native: Pair = (side, side)
    blocks = []
    for stage, depth in enumerate(config.depths):
        before = grid if stage else None
        if stage:
            grid, native = (-(-grid[0] // 2), -(-grid[1] // 2)), (-(-native[0] // 2), -(-native[1] // 2))
        for number in range(depth):
            plan = shifted_windows.plan(grid, native, config.window_size, bool(number % 2), config.convention)
            allowed = np.ones((*plan.index.shape, plan.index.shape[1]), bool)
            if plan.mask is not None:
                allowed = plan.mask == 0
            name = f"layers.{stage}.blocks.{number}"
            blocks.append(WindowBlock(name, grid, plan.index, allowed, None if number else before))
    return blocks


def reads(blocks: Sequence[WindowBlock], number: int, token: int) -> BoolArray:
    """Return a mask of the patches that a token of block `number` (from 0) depends on, (patches,).

    Walks back from the token, block by block: no matrix over all tokens is formed, so it serves 56 x 56 too.
    """
    seen = np.zeros(blocks[number].grid[0] * blocks[number].grid[1], dtype=bool)
    seen[token] = True
    for block in reversed(blocks[: number + 1]):
        inside = np.append(seen, False)[block.index]  # padding, -1, finds the False at the end
        keys = (inside[:, :, None] & block.allowed).any(axis=1) & (block.index >= 0)
        seen = np.zeros(block.grid[0] * block.grid[1], dtype=bool)
        seen[block.index[keys]] = True
        if block.merged_from is not None:
            rows, cols = block.merged_from
            quads = np.repeat(np.repeat(seen.reshape(block.grid), 2, axis=0), 2, axis=1)
            seen = quads[:rows, :cols].reshape(-1)
    return seen
