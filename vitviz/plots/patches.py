"""Pack the data of the patches lens for its views in the browser, and as PNG files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.patches import patchify, unpatchify
from vitviz.plots import attention_images
from vitviz.plots.blob import pack
from vitviz.plots.heat_grid import GridStyle, HeatPanel, pack_heat_grid
from vitviz.text import signed

FloatArray = NDArray[np.float32]
PictureArray = NDArray[np.uint8]
SHOWN_COLUMNS = 96
GAP_PX = 2  # between patches that are taken apart
SIDE_PX = 512  # of an image to take away, at most


@dataclass(frozen=True, eq=False)
class CutImage:
    """An image that is cut: shown (S, S, 3), values (C, S, S) as a model reads it, tokens before it, and P."""

    shown: PictureArray
    values: FloatArray
    prefix: Mapping[str, FloatArray]  # name -> (D,), in order
    patch_px: int


class Embedded(Protocol):
    """Protocol of an embedded image, such as `vitviz.probe.embedding.Embedding`."""

    @property
    def weight(self) -> FloatArray:
        """(D, C P^2), E transposed, in a Conv2d kernel's order."""

    @property
    def bias(self) -> FloatArray | None:
        """(D,), or None."""

    @property
    def tokens(self) -> FloatArray:
        """(N, D), the model's own x_p E."""


def stage(scene: CutImage, embedded: Embedded, *, pin: int, column: int) -> bytes:
    """Return the cut image, the token strip and the patch under the glass.

    Args:
        scene: the image and the tokens before its patches.
        pin: index of the chosen token in the sequence.
        column: index of the chosen column of E.
    """
    channels, height, width = scene.values.shape
    dim = len(embedded.weight)
    header = {
        "patch": scene.patch_px,
        "rows": height // scene.patch_px,
        "cols": width // scene.patch_px,
        "channels": channels,
        "dim": dim,
        "prefix": list(scene.prefix),
        "pin": pin,
        "column": column,
        "columns": SHOWN_COLUMNS,
    }
    return pack(
        header,
        shown=scene.shown,
        values=scene.values,
        weight=embedded.weight,
        bias=np.zeros(dim, np.float32) if embedded.bias is None else embedded.bias,
        tokens=embedded.tokens,
        prefix_tokens=_stack(scene.prefix, dim),
    )


def _stack(prefix: Mapping[str, FloatArray], dim: int) -> FloatArray:
    return np.stack(list(prefix.values())) if prefix else np.zeros((0, dim), np.float32)


def slip(shown: PictureArray, slipped: PictureArray, patch_px: int, pin: int = 0) -> bytes:
    """Pack correct and reshaped patches: shown (S, S, 3), slipped (N, P, P, 3); `pin` is the patch shown first."""
    rows, cols = shown.shape[0] // patch_px, shown.shape[1] // patch_px
    tiles = slipped.transpose(0, 3, 1, 2).reshape(rows * cols, -1)
    mosaic = unpatchify(tiles, 3, (rows, cols)).transpose(1, 2, 0)
    header = {"patch": patch_px, "rows": rows, "cols": cols, "pin": pin}
    return pack(header, shown=shown, mosaic=np.ascontiguousarray(mosaic))


def sequence(
    scene: CutImage, tokens: FloatArray, positions: FloatArray, *, added: bool, pin: int = 0
) -> bytes:
    """Return the three terms of z0 = [x_class; x1 E; ...] + E_pos as heat maps with one scale.

    Args:
        scene: the image and the tokens before its patches.
        tokens: (N, D), the patches times E.
        positions: (P + N, D), zeros where nothing is added.
        pin: index of the chosen token in the sequence: arrow keys start there.
    """
    content = np.concatenate([_stack(scene.prefix, tokens.shape[1]), tokens])
    terms = (content, positions, content + positions)
    # A few outliers would grey out everything else; what lies beyond is drawn in the last colour, and said so.
    scale = float(np.percentile(np.abs(np.concatenate(terms)), 99.5)) or 1.0
    count, first = len(scene.prefix), [f"x_{'class' if name == 'cls' else name}" for name in scene.prefix]
    names = [*(first if count < 3 else (first[0], "…", first[-1])), "x¹E", "…", "xᴺE"]
    titles = (f"[{'; '.join(names)}]", "+ E_pos" if added else "+ no position embedding", "= z₀")
    rows, dim = content.shape
    parts = (f"({count} + {rows - count})" if count else rows, rows, rows)
    panels = [
        HeatPanel(
            title,
            (rows, dim),
            values=values.reshape(1, -1),
            line=f"{part} × {dim}, values up to ±{np.abs(values).max():.3f}",
        )
        for title, part, values in zip(titles, parts, terms, strict=True)
    ]
    return pack_heat_grid(
        panels,
        GridStyle(),
        {"shown": scene.shown},
        patch=scene.patch_px,
        prefix=list(scene.prefix),
        scale=scale,
        ends=(f"≤ {signed(-scale, 3)}", "0", f"≥ {signed(scale, 3)}"),
        pin=pin,
    )


@dataclass(frozen=True, eq=False)
class ShuffleSteps:
    """What the browser needs to shuffle by itself.

    values: (C, S, S), the model's input. moving: the patches in the order in which they begin to move. counts: how many
    move at every position of the slider.
    """

    values: NDArray[np.float32]
    moving: NDArray[np.int64]
    counts: Sequence[int]


def puzzle(
    shown: PictureArray,
    order: NDArray[np.int64],
    patch_px: int,
    bars: list[dict[str, Any]],
    steps: ShuffleSteps,
) -> bytes:
    """Return the scrambled image and probabilities before and after.

    Args:
        shown: (S, S, 3).
        order: (N,), which patch lies in each place.
        patch_px: P.
        bars: one entry per model: {title, note, change, rows: [[class name, before, after], ...], classes: indices
            of the rows, weights: address or '', positions: False without them}.
    """
    header = {
        "patch": patch_px,
        "cols": shown.shape[1] // patch_px,
        "bars": bars,
        "counts": list(steps.counts),
    }
    arrays = {"input": steps.values, "moving": steps.moving.astype(np.int32)}
    return pack(header, shown=shown, order=order.astype(np.int32), **arrays)


def separate_patches(shown: PictureArray, patch_px: int) -> PictureArray:
    """Return the image with white gaps between its patches: (S, S, 3) -> (S + (n - 1) gap, ..., 3)."""
    rows, cols = shown.shape[0] // patch_px, shown.shape[1] // patch_px
    step = patch_px + GAP_PX
    sheet = np.full((rows * step - GAP_PX, cols * step - GAP_PX, 3), 255, dtype=np.uint8)
    for n, patch in enumerate(patchify(shown.transpose(2, 0, 1), patch_px)):
        top, left = (n // cols) * step, (n % cols) * step
        sheet[top : top + patch_px, left : left + patch_px] = patch.reshape(3, patch_px, patch_px).transpose(
            1, 2, 0
        )
    return sheet


def png(image: PictureArray) -> bytes:
    """Return a PNG, enlarged by an integer factor to a side of at most `SIDE_PX`."""
    factor = max(1, SIDE_PX // max(image.shape[:2]))
    return attention_images.png(np.kron(image, np.ones((factor, factor, 1), np.uint8)))
