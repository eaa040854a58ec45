"""Draw attention as image files: one view, a sheet of all heads, an animation."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitviz.analysis.attention import FloatArray, kept_by_mass
from vitviz.plots.theme import PALETTES, PIN, SEQUENTIAL, Mode, ramp

Style = Literal["overlay", "heat", "dim", "mask"]
Uint8 = NDArray[np.uint8]
SMALL_PX = 128  # below this side an image is shown with hard edges, and kept larger than it is
LEAST_PX = 1120
VEIL = 128  # the grey of a patch that is painted out
LABEL_PX = 28
SLIDE_PX = 800  # width of an image that is shown larger than a line of text
GUTTER_PX = 8


def _rgb(color: str) -> NDArray[np.float32]:
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float32)


@dataclass(frozen=True)
class Drawn:
    """Drawing options of a map over its image.

    `share` is of the mass that a mask keeps; `smooth` runs linearly between the patches' middles, which have one
    weight each; `grey` puts an overlay over greys.
    """

    style: Style = "overlay"
    share: float = 0.6
    opacity: float = 0.9
    smooth: bool = False
    grey: bool = False
    mode: Mode = "light"


def own_size(image: Uint8) -> int:
    """Return the width in px of an image file: the image's own, or a whole multiple that brings its longer side near
    `LEAST_PX`.
    """
    side = max(image.shape[:2])
    return int(image.shape[1]) * (1 if side >= SMALL_PX else max(1, LEAST_PX // side))


def _stretch(values: FloatArray, base: NDArray[np.float32], smooth: bool) -> NDArray[np.float32]:
    """Return one value per pixel of the image, (H, W, 1)."""
    resample = Image.Resampling.BILINEAR if smooth else Image.Resampling.NEAREST
    image = Image.fromarray(values.astype(np.float32)).resize((base.shape[1], base.shape[0]), resample)
    return np.clip(np.asarray(image, dtype=np.float32), 0, 1)[..., None]


def _resize(picture: Uint8, width_px: int) -> NDArray[np.float32]:
    """Resize an image in its proportions, with hard edges if it is small."""
    height, width = picture.shape[:2]
    if width == width_px:
        return picture.astype(np.float32)
    image = Image.fromarray(np.ascontiguousarray(picture))
    resample = Image.Resampling.NEAREST if max(height, width) < SMALL_PX else Image.Resampling.BICUBIC
    size = (width_px, max(1, round(height * width_px / width)))
    return np.asarray(image.resize(size, resample), dtype=np.float32)


def attention_image(
    picture: Uint8,
    weights: FloatArray,
    grid: tuple[int, int],
    drawn: Drawn = Drawn(),  # noqa: B008  (frozen)
    *,
    size_px: int | None = None,
    top: float | None = None,
    query: tuple[int, int] | None = None,
) -> Uint8:
    """Return the image with one map over it, (height, size_px, 3) in the image's proportions.

    An overlay that is not grey is the image itself, pixel for pixel, wherever the map is zero:
    out = image + opacity (w / top) (accent - image).

    Args:
        picture: (H, W, 3) uint8.
        weights: (patches,).
        size_px: the width; None: `own_size`.
        top: the weight in full colour; None: the map's own largest.
        query: (row, col) to outline.
    """
    base = _resize(picture, own_size(picture) if size_px is None else size_px)
    highest = float(weights.max()) if top is None else top
    level = np.clip(weights / highest, 0, 1) if highest > 0 else np.zeros_like(weights)
    masked = drawn.style == "mask"
    if masked:
        level = kept_by_mass(weights, drawn.share).astype(np.float32)
    level = _stretch(level.reshape(grid), base, drawn.smooth and not masked)
    image = Image.fromarray(np.clip(_blend_map(base, level, drawn), 0, 255).astype(np.uint8))
    if query is not None:
        _outline(image, query, grid, drawn.mode)
    return np.asarray(image)


def _blend_map(
    base: NDArray[np.float32], level: NDArray[np.float32], drawn: Drawn
) -> NDArray[np.floating[Any]]:
    """Blend a map (H, W, 1) in [0, 1] over an image (H, W, 3), in one of four styles."""
    if drawn.style == "heat":
        table = np.stack([_rgb(ramp(SEQUENTIAL, i / 255)) for i in range(256)])
        return np.asarray(table[np.round(255 * level[..., 0]).astype(np.int64)])
    if drawn.style == "overlay":
        ground = _grey_out(base) if drawn.grey else base
        return ground + drawn.opacity * level * (_rgb(PALETTES[drawn.mode].query) - ground)
    return base * (1 - drawn.opacity * (1 - level))


def _grey_out(base: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the image in grey, as in the explorer: brightness 0.92, contrast 0.8."""
    grey = base @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return np.repeat(((0.92 * grey - 127.5) * 0.8 + 127.5)[..., None], 3, axis=2)


def veiled_image(image: Uint8, patches: Sequence[int], grid: tuple[int, int]) -> Uint8:
    """Return the image at its `own_size` with patches (in reading order, from 0) covered in grey."""
    base = _resize(image, own_size(image))
    left_out = np.zeros(grid[0] * grid[1], dtype=np.float32)
    left_out[list(patches)] = 1
    veil = _stretch(left_out.reshape(grid), base, smooth=False)
    return np.asarray(np.where(veil > 0, VEIL, base), dtype=np.uint8)


def _outline(image: Image.Image, query: tuple[int, int], grid: tuple[int, int], mode: Mode) -> None:
    height, width = image.height / grid[0], image.width / grid[1]
    left, top = query[1] * width, query[0] * height
    box = (round(left), round(top), round(left + width) - 1, round(top + height) - 1)
    draw = ImageDraw.Draw(image)
    draw.rectangle([box[0] - 4, box[1] - 4, box[2] + 4, box[3] + 4], outline="white", width=4)
    draw.rectangle(box, outline=PIN, width=3)


def sheet(images: Sequence[Uint8], labels: Sequence[str], columns: int, mode: Mode = "light") -> Uint8:
    """Return images of one size in rows, each with its label below, which is larger below images for slides."""
    height, width = images[0].shape[:2]
    times = 1 + (width >= SLIDE_PX)
    label_px = times * LABEL_PX
    rows = -(-len(images) // columns)
    palette = PALETTES[mode]
    page = Image.new(
        "RGB",
        (columns * (width + GUTTER_PX) + GUTTER_PX, rows * (height + label_px + GUTTER_PX) + GUTTER_PX),
        palette.paper,
    )
    draw = ImageDraw.Draw(page)
    for i, (image, label) in enumerate(zip(images, labels, strict=True)):
        left = GUTTER_PX + (i % columns) * (width + GUTTER_PX)
        top = GUTTER_PX + (i // columns) * (height + label_px + GUTTER_PX)
        page.paste(Image.fromarray(image), (left, top))
        draw.text((left, top + height + 6 * times), label, fill=palette.ink, font_size=16 * times)
    return np.asarray(page)


def png(image: Uint8) -> bytes:
    """Return an image as PNG."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def webp(frames: Sequence[Uint8], frame_ms: int = 600) -> bytes:
    """Return the frames as a looping animated WebP; the last one is shown twice as long."""
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
