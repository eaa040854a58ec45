"""A digit that somebody drew or photographed, as its model's training set would have it.

The ink is found first: on the even ground of a drawing, or on paper in a light that changes over it. Then it is scaled
and put in its place.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MNIST_PX = 28
MNIST_BOX_PX = (
    20  # LeCun et al. 1998: digits fit a 20 x 20 box, their centre of mass in the middle of 28 x 28
)
UCI_GRAIN = (
    8  # scikit-learn's digits: counted on an 8 x 8 grid, as high as it and at most 6 of its columns wide
)
UCI_COLS = 6
FULL_INK_PERCENTILE = 90.0  # thin strokes fade when made small: the strongest tenth of the ink is white again
INK_LEVELS = (
    16  # a stroke is at least this many levels brighter than the ground: fainter is paper and compression
)
INK_SHARE = (
    0.25  # and at least this share of the strongest stroke's: fainter are a page's lines and its grain
)
DRAWN_PX = 64  # no photograph is as small: a dataset's image, whose strokes may touch the edge, or a pad's
INK_SIDE_PX = 240  # ink is looked for in an image of this longer side: a camera's noise is averaged away
EVEN_LEVELS = 8  # a ground is even where most of the edge lies within as many levels,
EVEN_SHARE = 0.8  # most being this share
WIDEST_STROKE = 0.3  # of the longer side: what is wider in a photograph is light and shade
SMALLEST_PART = 0.08  # of the shorter side: what is smaller than this in a photograph is a speck
LEAST_PART = 0.1  # of the ink of the digit's largest part

Uint8 = NDArray[np.uint8]
Float32 = NDArray[np.float32]


def centre_digit(grey: Uint8, size: int) -> Uint8:
    """Return a drawn digit as its training set would have it: light on dark, scaled, and put in its place.

    At 28 px as MNIST (LeCun et al. 1998): the ink's box scaled to fit 20 x 20, its centre of mass in the middle.
    At other sizes as scikit-learn's digits: the ink's box made as high as the frame and squeezed to three quarters
    of its width where it is wider, counted on an 8 x 8 grid, drawn smooth.

    Args:
        grey: (H, W) uint8, dark on light or light on dark, drawn or photographed.
        size: side of the result, in px.

    Returns:
        (size, size) uint8, light on dark; black where there is no ink.
    """
    ink = _ink(grey)
    rows, cols = np.flatnonzero(ink.max(axis=1) > 0), np.flatnonzero(ink.max(axis=0) > 0)
    if not len(rows):
        return np.zeros((size, size), dtype=np.uint8)
    digit = ink[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    height, width = digit.shape
    if size == MNIST_PX:
        return _place_by_mass(_scale_to_mnist(digit), size)[0]
    widest = size * UCI_COLS / UCI_GRAIN
    framed = _place_centred(_scale(digit, size, min(width * size / height, widest)), size)
    grain = _full_ink(np.array(Image.fromarray(framed).resize((UCI_GRAIN, UCI_GRAIN), Image.Resampling.BOX)))
    return np.array(Image.fromarray(grain).resize((size, size), Image.Resampling.BICUBIC))


def find_ink_box(grey: Uint8) -> tuple[float, float, float] | None:
    """Return (left, top, side) in px of the square that `centre_digit` shows at 28 px; None without ink."""
    ink = _ink(grey)
    rows, cols = np.flatnonzero(ink.max(axis=1) > 0), np.flatnonzero(ink.max(axis=0) > 0)
    if not len(rows):
        return None
    digit = ink[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]
    top, left = _place_by_mass(_scale_to_mnist(digit), MNIST_PX)[1]
    pitch, shrink = max(digit.shape) / MNIST_BOX_PX, max(grey.shape) / max(ink.shape)
    return (cols[0] - left * pitch) * shrink, (rows[0] - top * pitch) * shrink, MNIST_PX * pitch * shrink


def _scale_to_mnist(digit: Uint8) -> Uint8:
    scale = MNIST_BOX_PX / max(digit.shape)
    return _full_ink(_scale(digit, digit.shape[0] * scale, digit.shape[1] * scale))


def _ink(grey: Uint8) -> Uint8:
    """Ink as brightness over the ground, its strongest at 255, and nothing else: of a large image made smaller."""
    if max(grey.shape) <= DRAWN_PX:
        return _extract_ink(grey)
    from scipy import ndimage

    grey = _reduced(grey, INK_SIDE_PX)
    even = _has_plain_background(grey)
    contrast = _over_even_ground(grey) if even else _over_paper(grey)
    near = np.ones((3, 3), dtype=bool)
    low = max(float(INK_LEVELS), INK_SHARE * float(contrast.max()))
    parts, count = ndimage.label(contrast >= low, near)
    if not count:
        return np.zeros_like(grey)
    ink = np.concatenate([[0.0], ndimage.sum_labels(contrast, parts, np.arange(1, count + 1))])
    if not even:
        ink = _without_shade(ink, parts)
    strong = (ink >= LEAST_PART * ink.max())[parts] & (parts > 0)
    # with the soft edge of the strokes
    contrast[~ndimage.binary_dilation(strong, near) | (contrast < INK_LEVELS)] = 0
    bright: Float32 = contrast * (255 / float(contrast[strong].max()))
    levels: Uint8 = np.rint(np.minimum(bright, 255)).astype(np.uint8)
    return levels


def _extract_ink(grey: Uint8) -> Uint8:
    """Return all that differs from an even ground."""
    contrast = _over_even_ground(grey)
    contrast[contrast < INK_LEVELS] = 0
    strongest = float(contrast.max())
    return np.rint(contrast * (255 / strongest)).astype(np.uint8) if strongest else np.zeros_like(grey)


def _reduced(grey: Uint8, side_px: int) -> Uint8:
    """Return the image with its longer side at most so long."""
    shrink = side_px / max(grey.shape)
    if shrink >= 1:
        return grey
    height, width = (max(1, round(side * shrink)) for side in grey.shape)
    return np.array(Image.fromarray(grey).resize((width, height), Image.Resampling.BOX))


def _edge(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])


def _has_plain_background(grey: Uint8) -> bool:
    """Return True if the ground, which is what the edge shows most, is one level: a drawing's, a scan's."""
    from scipy import ndimage

    smooth = _edge(ndimage.uniform_filter(grey.astype(np.float32), 5, mode="nearest"))
    return bool((np.abs(smooth - np.median(_edge(grey))) <= EVEN_LEVELS).mean() >= EVEN_SHARE)


def _over_even_ground(grey: Uint8) -> Float32:
    """Return the levels over the one level of the ground, towards where the image goes farther."""
    ground = float(np.median(_edge(grey)))
    contrast = grey.astype(np.float32) - ground
    return -contrast if ground - float(grey.min()) > float(grey.max()) - ground else contrast


def _over_paper(grey: Uint8) -> Float32:
    """Levels over a ground that light and shade change: it is what is left where strokes are closed by what is around.

    Whether strokes are dark or light is said by the few pixels that differ most from the many around them.
    """
    from scipy import ndimage

    level, small = grey.astype(np.float32), _reduced(grey, 32).astype(np.float32)
    around = ndimage.median_filter(small, max(small.shape) // 2 | 1, mode="nearest")
    stroke = max(3, int(WIDEST_STROKE * max(grey.shape)) | 1)
    if float(((small - around) ** 3).sum()) < 0:
        dark: Float32 = ndimage.grey_closing(level, stroke, mode="nearest") - level
        return dark
    light: Float32 = level - ndimage.grey_opening(level, stroke, mode="nearest")
    return light


def _without_shade(ink: NDArray[np.float64], parts: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the ink of every part, without specks and parts cut by the edge (a table, a shadow) if others remain."""
    from scipy import ndimage

    heights = [max(extent.stop - extent.start for extent in place) for place in ndimage.find_objects(parts)]
    inside = np.where(np.array([0, *heights]) >= SMALLEST_PART * min(parts.shape), ink, 0.0)
    inside[_edge(parts)] = 0.0
    return inside if inside.any() else ink


def _scale(digit: Uint8, height_px: float, width_px: float) -> Uint8:
    size = (max(1, round(width_px)), max(1, round(height_px)))
    return np.array(Image.fromarray(digit).resize(size, Image.Resampling.BILINEAR))


def _full_ink(digit: Uint8) -> Uint8:
    """Return the digit brightened until its strongest tenth is white."""
    if not digit.any():
        return digit
    white = float(np.percentile(digit[digit > 0], FULL_INK_PERCENTILE))
    brightened: Uint8 = np.rint(np.minimum(digit * (255 / white), 255)).astype(np.uint8)
    return brightened


def _place_centred(digit: Uint8, size: int) -> Uint8:
    frame = np.zeros((size, size), dtype=np.uint8)
    top, left = (size - digit.shape[0]) // 2, (size - digit.shape[1]) // 2
    frame[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return frame


def _place_by_mass(digit: Uint8, size: int) -> tuple[Uint8, tuple[int, int]]:
    """Return the digit in a frame whose middle is its centre of mass, to the nearest pixel, never cut; its corner."""
    mass = digit.astype(np.float64)
    frame = np.zeros((size, size), dtype=np.uint8)
    corner = []
    for axis in (0, 1):
        profile = mass.sum(axis=1 - axis)
        middles = np.arange(len(profile)) + 0.5
        centre = float((profile * middles).sum() / profile.sum()) if profile.any() else len(profile) / 2
        corner.append(min(max(round(size / 2 - centre), 0), size - len(profile)))
    top, left = corner
    frame[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return frame, (top, left)
