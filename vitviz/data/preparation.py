"""From an image of any size to the input that a model was made for, and to what the model then sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.config import Preparation
from vitviz.data.photographed_digit import centre_digit

CROP_PX = (
    1120  # the longest side of a crop that is drawn on: twice the stage, for screens of two pixels to one
)
LUMINANCE = (0.299, 0.587, 0.114)  # ITU-R BT.601
_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}

Uint8 = NDArray[np.uint8]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Prepared:
    """One image as a model takes it.

    input: (C, S, S) float32, normalised.
    shown: (S, S, 3) uint8, what the model sees, for people: grey where the model sees grey.
    box: (top, left, side) of the seen square in pixels of the source, not rounded.
    """

    input: Float32
    shown: Uint8
    box: tuple[float, float, float]


def prepare(image: Uint8, preparation: Preparation, offset: tuple[float, float] = (0.5, 0.5)) -> Prepared:
    """Cut a square from the image, bring it to the model's size and channels, and normalise it.

    The square's side is `crop_fraction` of the shorter side, so shapes keep their aspect. A model of drawn
    digits gets the whole image, light on dark, the digit placed as in its training set; an image that
    already has the model's size is taken for one of that set and left alone.

    Args:
        image: (H, W, 3) uint8.
        preparation: what the model was made for.
        offset: where the square lies in the room left, (x, y) in [0, 1]: (0, 0) top left, (0.5, 0.5) centred.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f"image must be uint8 (H, W, 3) and not empty, received {image.dtype} {image.shape}")
    size = preparation.image_size
    if preparation.digit and image.shape[:2] != (size, size):
        shown = np.repeat(centre_digit(luminance(image), size)[..., None], 3, axis=2)
        box = _enclosing_square(image.shape[0], image.shape[1])
    else:
        box = crop_box(image.shape[0], image.shape[1], preparation.crop_fraction, offset)
        shown = _resize(image, box, size, preparation.interpolation)
        if preparation.in_chans == 1:
            shown = np.repeat(luminance(shown)[..., None], 3, axis=2)
    return Prepared(normalise(shown[None, ..., : preparation.in_chans], preparation)[0], shown, box)


def seen_crop(
    image: Uint8,
    preparation: Preparation,
    offset: tuple[float, float] = (0.5, 0.5),
    most_px: int = CROP_PX,
) -> Uint8:
    """Return the square that `prepare` cuts, in the image's own pixels and colours: what maps are drawn on.

    Pixels are copied, so the square lies on whole ones, at most one from where the model's lies; never
    enlarged, and made smaller only where its side is beyond `most_px`. A digit that is redrawn for its model has no
    such square: it is given as the model sees it.

    Args:
        image: (H, W, 3) uint8.
        preparation: of the model.
        offset: as `prepare` takes it.
        most_px: the longest side.

    Returns:
        (S, S, 3) uint8.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if preparation.digit:
        return prepare(image, preparation, offset).shown
    top, left, side = crop_box(image.shape[0], image.shape[1], preparation.crop_fraction, offset)
    px = max(1, round(side))
    row, col = min(round(top), image.shape[0] - px), min(round(left), image.shape[1] - px)
    crop = np.ascontiguousarray(image[row : row + px, col : col + px])
    return crop if px <= most_px else _resize(crop, (0, 0, px), most_px, "bicubic")


def prepare_batch(images: Uint8, preparation: Preparation) -> Float32:
    """Return a dataset's images as a model takes them, (N, C, S, S) float32; centre crop where sizes differ.

    Equals `prepare` image by image. Images of the model's own size are treated all at once, without a
    loop.

    Args:
        images: (N, H, W, 1 or 3) uint8.
        preparation: what the model was made for.

    Raises:
        ValueError: if the images do not fit.
    """
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise ValueError(f"images must be uint8 (N, H, W, 1 or 3), received {images.dtype} {images.shape}")
    size = preparation.image_size
    whole = preparation.crop_fraction == 1.0 or preparation.digit
    if images.shape[1:3] != (size, size) or not whole:
        colour = np.broadcast_to(images, (*images.shape[:3], 3))
        inputs = [prepare(picture, preparation).input for picture in colour]
        return np.stack(inputs) if inputs else np.empty((0, preparation.in_chans, size, size), np.float32)
    if images.shape[3] == 3 and preparation.in_chans == 1:
        images = luminance(images)[..., None]
    elif images.shape[3] == 1 and preparation.in_chans == 3:
        images = np.broadcast_to(images, (*images.shape[:3], 3))
    return normalise(images, preparation)


def normalise(images: Uint8, preparation: Preparation) -> Float32:
    """Return (x / 255 - mean) / std per channel: (N, H, W, C) uint8 to (N, C, H, W) float32, contiguous."""
    mean = np.array(preparation.mean, dtype=np.float32)
    std = np.array(preparation.std, dtype=np.float32)
    out = np.empty((images.shape[0], images.shape[3], *images.shape[1:3]), dtype=np.float32)
    np.multiply(images.transpose(0, 3, 1, 2), (1 / (255 * std))[:, None, None], out=out, dtype=np.float32)
    out -= (mean / std)[:, None, None]
    return out


def luminance(image: Uint8) -> Uint8:
    """Grey as the eye weighs colour, 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601): (..., 3) to (...) uint8."""
    grey = image.astype(np.float32) @ np.array(LUMINANCE, dtype=np.float32)
    return np.rint(grey).astype(np.uint8)


def crop_box(
    height_px: int, width_px: int, fraction: float, offset: tuple[float, float]
) -> tuple[float, float, float]:
    """Return (top, left, side) in px of a square, `fraction` of the shorter side, at `offset` (x, y) of the rest.

    Raises:
        ValueError: if the offset does not lie in [0, 1] x [0, 1].
    """
    x, y = offset
    if not (0 <= x <= 1 and 0 <= y <= 1):
        raise ValueError(f"offset must lie in [0, 1] x [0, 1], received {offset!r}")
    side = fraction * min(height_px, width_px)
    return (height_px - side) * y, (width_px - side) * x, side


def _enclosing_square(height_px: int, width_px: int) -> tuple[float, float, float]:
    """Return the smallest square around the whole image: a drawn digit is looked for everywhere."""
    side = max(height_px, width_px)
    return (height_px - side) / 2, (width_px - side) / 2, float(side)


def _resize(image: Uint8, box: tuple[float, float, float], size: int, interpolation: str) -> Uint8:
    top, left, side = box
    resized = Image.fromarray(image).resize(
        (size, size),
        _FILTERS[interpolation],
        # rounding can put the far edge a hair outside, which Pillow refuses
        box=(left, top, min(left + side, image.shape[1]), min(top + side, image.shape[0])),
    )
    return np.array(resized)
