"""Attention as pictures to keep: one view, a sheet of all heads, an animation; drawn on arrays, without a browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitviz.analysis.attention import FloatArray, kept_by_mass
from vitviz.plots.theme import PALETTES, SEQUENTIAL, Mode, ramp

Style = Literal["overlay", "heat", "dim", "mask"]
Uint8 = NDArray[np.uint8]
LABEL_PX = 28
GUTTER_PX = 8


def _rgb(color: str) -> NDArray[np.float32]:
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float32)


def _stretched(values: FloatArray, size_px: int, smooth: bool) -> NDArray[np.float32]:
    resample = Image.Resampling.BICUBIC if smooth else Image.Resampling.NEAREST
    image = Image.fromarray(values.astype(np.float32)).resize((size_px, size_px), resample)
    return np.clip(np.asarray(image, dtype=np.float32), 0, 1)


def attention_image(
    picture: Uint8,
    weights: FloatArray,
    grid: tuple[int, int],
    *,
    size_px: int,
    style: Style = "overlay",
    top: float | None = None,
    query: tuple[int, int] | None = None,
    share: float = 0.6,
    opacity: float = 0.9,
    smooth: bool = False,
    mode: Mode = "light",
) -> Uint8:
    """The picture with one map over it, (size_px, size_px, 3).

    Args:
        picture: (S, S, 3) uint8.
        weights: (patches,).
        top: the weight in full colour; None: the map's own largest.
        query: (row, col) to outline.
        share: of the mass that a mask keeps.
    """
    resample = Image.Resampling.NEAREST if picture.shape[0] < 128 else Image.Resampling.BICUBIC
    base = np.asarray(Image.fromarray(picture).resize((size_px, size_px), resample), dtype=np.float32)
    highest = float(weights.max()) if top is None else top
    level = np.clip(weights / highest, 0, 1) if highest > 0 else np.zeros_like(weights)
    if style == "mask":
        level = kept_by_mass(weights, share).astype(np.float32)
    level = _stretched(level.reshape(grid), size_px, smooth and style != "mask")[..., None]
    if style == "heat":
        table = np.stack([_rgb(ramp(SEQUENTIAL, i / 255)) for i in range(256)])
        drawn = table[np.round(255 * level[..., 0]).astype(np.int64)]
    elif style == "overlay":
        grey = base @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
        # The greyed picture of the explorer: brightness 0.92, contrast 0.8.
        ground = np.repeat(((0.92 * grey - 127.5) * 0.8 + 127.5)[..., None], 3, axis=2)
        drawn = ground + opacity * level * (_rgb(PALETTES[mode].query) - ground)
    else:
        drawn = base * (1 - opacity * (1 - level))
    image = Image.fromarray(np.clip(drawn, 0, 255).astype(np.uint8))
    if query is not None:
        _outline(image, query, grid, mode)
    return np.asarray(image)


def _outline(image: Image.Image, query: tuple[int, int], grid: tuple[int, int], mode: Mode) -> None:
    height, width = image.height / grid[0], image.width / grid[1]
    left, top = query[1] * width, query[0] * height
    box = (round(left), round(top), round(left + width) - 1, round(top + height) - 1)
    draw = ImageDraw.Draw(image)
    draw.rectangle([box[0] - 4, box[1] - 4, box[2] + 4, box[3] + 4], outline="white", width=4)
    draw.rectangle(box, outline=PALETTES[mode].query, width=3)


def sheet(images: Sequence[Uint8], labels: Sequence[str], columns: int, mode: Mode = "light") -> Uint8:
    """Pictures of one size in rows, each with its label under it, on paper."""
    side = images[0].shape[0]
    rows = -(-len(images) // columns)
    palette = PALETTES[mode]
    page = Image.new(
        "RGB",
        (columns * (side + GUTTER_PX) + GUTTER_PX, rows * (side + LABEL_PX + GUTTER_PX) + GUTTER_PX),
        palette.paper,
    )
    draw = ImageDraw.Draw(page)
    for i, (image, label) in enumerate(zip(images, labels, strict=True)):
        left = GUTTER_PX + (i % columns) * (side + GUTTER_PX)
        top = GUTTER_PX + (i // columns) * (side + LABEL_PX + GUTTER_PX)
        page.paste(Image.fromarray(image), (left, top))
        draw.text((left, top + side + 6), label, fill=palette.ink, font_size=16)
    return np.asarray(page)


def png(image: Uint8) -> bytes:
    """A picture as PNG."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def webp(frames: Sequence[Uint8], frame_ms: int = 600) -> bytes:
    """Frames as one animated WebP that repeats; the last one stays twice as long.

    Raises:
        ValueError: if there are no frames.
    """
    if not frames:
        raise ValueError("an animation needs at least one frame, received none")
    images = [Image.fromarray(frame) for frame in frames]
    durations: Any = [frame_ms] * (len(images) - 1) + [2 * frame_ms]
    out = io.BytesIO()
    images[0].save(
        out,
        "WEBP",
        save_all=True,
        append_images=images[1:],
        duration=durations if len(images) > 1 else frame_ms,
        loop=0,
        quality=85,
    )
    return out.getvalue()
