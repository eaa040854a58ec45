"""Pack the data of the Swin lens for its views in the browser, and draw its figures."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_reach import NEVER, NOTHING, WindowBlock
from vitviz.analysis.window_attention import Layout, MaskComparison, Merge
from vitviz.config import SwinConfig
from vitviz.plots.blob import pack
from vitviz.plots.heat_grid import Fact, GridStyle, HeatPanel, pack_heat_grid
from vitviz.plots.photo import decode_photo
from vitviz.plots.theme import family_colors
from vitviz.shifted_windows import FloatArray, Pair, relative_position_index
from vitviz.text import signed

PictureArray = NDArray[np.uint8]
Hops = tuple[
    str, NDArray[np.uint8]
]  # a note, and (output, input) blocks until the input can have reached the output


def stepper(
    shown: PictureArray,
    layout: Layout,
    attended: MaskComparison,
    pin: int,
    captions: Sequence[str],
    begin: int = 0,
) -> bytes:
    """Return the stepper: windows, roll, region ids, masks and attention of one grid.

    Args:
        shown: (S, S, 3), the image.
        layout: its windows.
        attended: attention inside them, with and without the mask.
        pin: index of the chosen patch.
        captions: the finding of each stage.
        begin: the stage that it goes to first, from 0.
    """
    rows, cols = layout.grid
    header = {
        "rows": rows,
        "cols": cols,
        "window": layout.window,
        "shift": layout.shift,
        "pin": pin,
        "begin": begin,
        "captions": list(captions),
    }
    return pack(
        header,
        shown=shown,
        ids=layout.ids.astype(np.uint8),
        plain=layout.plain.astype(np.int32),
        index=layout.index.astype(np.int32),
        allowed=(layout.mask == 0).astype(np.uint8),
        attn=attended.masked.astype(np.float32),
        unmasked=attended.unmasked.astype(np.float32),
        leak=attended.leak.astype(np.float32),
    )


def reach(shown: PictureArray, grid: Pair, hops: Mapping[str, Hops], pin: int, begin: int = 1) -> bytes:
    """Return the reach of information, one panel per kind of model.

    Args:
        shown: (S, S, 3), the image.
        grid: (rows, cols).
        pin: index of the chosen patch.
    """
    tables = np.stack([table for _, table in hops.values()])
    header = {
        "rows": grid[0],
        "cols": grid[1],
        "pin": pin,
        "blocks": max(int(tables[tables != NEVER].max()), 1),
        "begin": begin,
        "panels": [{"title": title, "note": note} for title, (note, _) in hops.items()],
        "colors": family_colors(["swin", "swin", "vit", "cnn"])[-len(hops) :],
    }
    return pack(header, shown=shown, hops=tables.astype(np.uint8))


def gradient(
    shown: PictureArray,
    grid: Pair,
    *,
    blocks: Sequence[WindowBlock],
    tokens: Sequence[int],
    allowed: NDArray[np.bool_],
    gradients: NDArray[np.float64],
) -> bytes:
    """Return the gradients of one token per block on the patches that the masks allow, as a heat grid.

    Args:
        shown: (S, S, 3), the image.
        grid: (rows, cols) of the image's patches.
        tokens: the token of each block, in reading order of its grid.
        allowed: (blocks, patches), what it can have read.
        gradients: (blocks, patches).
    """
    percents = 100 * gradients / np.maximum(gradients.max(axis=1, keepdims=True), 1e-300)
    photo, nonzero = decode_photo(shown), percents > 100 * NOTHING
    values = np.where(allowed | nonzero, percents, np.nan)
    panels = [
        HeatPanel(
            block_title(block.name),
            grid,
            [Fact("", None, " % of the largest gradient")],
            values[[i]],
            photo,
            ramp="decades",
            high=100,
            note=f"{nonzero[i].sum():,} non-zero, {allowed[i].sum():,} allowed",
            framed=(block.grid, token),
            missing="gradient 0, blocked by the masks",
        )
        for i, (block, token) in enumerate(zip(blocks, tokens, strict=True))
    ]
    legend = ("≤ 1/10,000", "logarithmic", "largest gradient")
    return pack_heat_grid(panels, GridStyle(grey=True, legend=legend))


def block_title(name: str) -> str:
    """Format a block's title: 'Stage 1, block 2' for 'layers.0.blocks.1'."""
    _, stage, _, block = name.split(".")
    return f"Stage {int(stage) + 1}, block {int(block) + 1}" + (" · shifted" if int(block) % 2 else "")


def bias(tables: FloatArray, window: Pair, steps: Sequence[int], at: int) -> bytes:
    """Return the relative position bias of one block over training.

    Args:
        tables: (steps, heads, (2 Mh - 1)(2 Mw - 1)).
        window: (rows, cols).
        steps: of the snapshots, ascending.
        at: index of the one that is shown first.
    """
    rows, cols = window
    table, tokens = (2 * rows - 1, 2 * cols - 1), rows * cols
    heads, peak = tables.shape[1], float(np.abs(tables).max()) or 1.0
    panels = [
        HeatPanel("Window: query and key", window, high=peak),
        HeatPanel("", table, high=peak),
        HeatPanel(f"B, {tokens} × {tokens}: query (row) × key (column)", (tokens, tokens), high=peak),
        *(HeatPanel(f"Head {head + 1}", table, high=peak) for head in range(heads)),
    ]
    return pack_heat_grid(
        panels,
        GridStyle(legend=(signed(-peak, 3), "0", signed(peak, 3))),
        {"table": tables.astype(np.float32), "index": relative_position_index(window).astype(np.int32)},
        rows=[
            {"title": "", "note": "", "count": 3},
            {"title": f"All {heads} heads, shared scale", "note": "", "count": heads},
        ],
        window=window,
        heads=heads,
        steps=list(steps),
        at=at,
    )


def pyramid(
    shown: PictureArray, config: SwinConfig, grid: Pair, pin: tuple[float, float], merge: Merge | None
) -> bytes:
    """Return the stages' grids on the image, and one patch merging."""
    stages = []
    for stage, depth in enumerate(config.depths):
        stages.append(
            {
                "rows": grid[0],
                "cols": grid[1],
                "dim": config.embed_dim * 2**stage,
                "px": config.patch_size * 2**stage,
                "blocks": depth,
                "heads": config.num_heads[stage],
            }
        )
        grid = (-(-grid[0] // 2), -(-grid[1] // 2))
    header: dict[str, object] = {"pin": list(pin), "stages": stages, "merge": None}
    if merge is None:
        return pack(header, shown=shown)
    header["merge"] = {
        "stage": merge.stage,
        "four": [list(place) for place in merge.four_at],
        "token": list(merge.token),
    }
    values = {"four": merge.four, "normed": merge.normed, "merged": merge.merged}
    return pack(header, shown=shown, **{name: array.astype(np.float32) for name, array in values.items()})
