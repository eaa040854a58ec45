"""What the Swin lens draws: arrays packed for its views in the browser, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.reachability import NEVER, BlockReach
from vitviz.analysis.windows import Layout
from vitviz.plots.blob import pack
from vitviz.windows import FloatArray, Pair

PictureArray = NDArray[np.uint8]


def stepper(
    shown: PictureArray, found: Layout, attn: FloatArray, unmasked: FloatArray, leak: FloatArray, pin: int
) -> bytes:
    """The stepper: windows, roll, region ids, masks and attention of one grid.

    Args:
        shown: (S, S, 3), the picture.
        found: its windows.
        attn, unmasked: (windows, M M, M M), with and without the mask.
        leak: (patches,), share of the attention that crosses the edge without the mask.
        pin: index of the chosen patch.
    """
    rows, cols = found.grid
    if not 0 <= pin < rows * cols:
        raise ValueError(f"pin must lie below {rows * cols}, received {pin}")
    header = {"rows": rows, "cols": cols, "window": found.window, "shift": found.shift, "pin": pin}
    return pack(
        header,
        shown=shown,
        ids=found.ids.astype(np.uint8),
        plain=found.plain.astype(np.int32),
        index=found.index.astype(np.int32),
        allowed=(found.mask == 0).astype(np.uint8),
        attn=attn.astype(np.float32),
        unmasked=unmasked.astype(np.float32),
        leak=leak.astype(np.float32),
    )


def reach(
    shown: PictureArray, grid: Pair, hops: Mapping[str, tuple[str, NDArray[np.uint8]]], pin: int
) -> bytes:
    """Travelling information: one panel per kind of model, all on one grid.

    Args:
        shown: (S, S, 3), the picture.
        grid: (rows, cols).
        hops: title -> (note, (output, input) blocks until the input can have reached the output).
        pin: index of the chosen patch.
    """
    tables = np.stack([table for _, table in hops.values()])
    blocks = int(tables[tables != NEVER].max())
    header = {
        "rows": grid[0],
        "cols": grid[1],
        "pin": pin,
        "blocks": max(blocks, 1),
        "panels": [{"title": title, "note": note} for title, (note, _) in hops.items()],
    }
    return pack(header, shown=shown, hops=tables.astype(np.uint8))


def gradient(
    shown: PictureArray,
    grid: Pair,
    blocks: Sequence[BlockReach],
    tokens: Sequence[int],
    gradients: NDArray[np.float64],
) -> bytes:
    """Gradients of one token per block, beside what the masks allow.

    Args:
        shown: (S, S, 3), the picture.
        grid: (rows, cols) of the picture's patches.
        blocks: names, grids and reachable sets.
        tokens: the token of each block, in reading order of its grid.
        gradients: (blocks, patches).
    """
    header = {
        "rows": grid[0],
        "cols": grid[1],
        "blocks": [
            {"name": block_title(block.name), "rows": block.grid[0], "cols": block.grid[1], "token": token}
            for block, token in zip(blocks, tokens, strict=True)
        ],
    }
    allowed = np.stack([block.reach[token] for block, token in zip(blocks, tokens, strict=True)])
    scaled = gradients / np.maximum(gradients.max(axis=1, keepdims=True), 1e-300)
    return pack(header, shown=shown, gradient=scaled.astype(np.float32), reach=allowed.astype(np.uint8))


def block_title(name: str) -> str:
    """'Stage 1, block 2' for 'layers.0.blocks.1'."""
    _, stage, _, block = name.split(".")
    return f"Stage {int(stage) + 1}, block {int(block) + 1}" + (" · shifted" if int(block) % 2 else "")
