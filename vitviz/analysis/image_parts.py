"""Cut rectangles from an image, move them, and fill the holes."""

import string
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Uint8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]
SIGNS = (
    string.digits + string.ascii_lowercase + string.ascii_uppercase + "-_"
)  # of a number in a link, 0 to 63
MOST = 8  # parts
LEAST_PX = 2  # a side of a part
_NUMBERS = 6  # of a part


@dataclass(frozen=True)
class ImagePart:
    """A rectangle of an image, in its pixels: cut at (left, top), it lies with its corner at (x, y)."""

    left: int
    top: int
    width: int
    height: int
    x: int
    y: int

    @property
    def at_home(self) -> bool:
        """True if it lies where it was cut."""
        return (self.x, self.y) == (self.left, self.top)


PlacedParts = tuple[ImagePart, ...]


def cut_part(left: int, top: int, width: int, height: int) -> ImagePart:
    """Return a part that lies where it is cut."""
    return ImagePart(left, top, width, height, left, top)


def misplace_parts(parts: Sequence[ImagePart], size: int) -> PlacedParts:
    """Return every part about the middle of another's place, half of the list further on; one alone is turned about the
    image's middle.

    Args:
        size: the side of the image, in px; a part stays within it.
    """
    by = len(parts) // 2
    return tuple(
        _place_part(part, _middle(part, parts[(i + by) % len(parts)]) if by else _opposite(part, size), size)
        for i, part in enumerate(parts)
    )


def _middle(part: ImagePart, other: ImagePart) -> tuple[int, int]:
    """Return the corner that centres a part on another's place."""
    return other.left + (other.width - part.width) // 2, other.top + (other.height - part.height) // 2


def _opposite(part: ImagePart, size: int) -> tuple[int, int]:
    return size - part.width - part.left, size - part.height - part.top


def _place_part(part: ImagePart, corner: tuple[int, int], size: int) -> ImagePart:
    x, y = (max(0, min(size - side, at)) for at, side in zip(corner, (part.width, part.height), strict=True))
    return replace(part, x=x, y=y)


def assemble(image: Uint8, parts: Sequence[ImagePart]) -> Uint8:
    """Return the image with its parts moved, later ones over earlier ones.

    Where all lie at home that is the image itself.

    Args:
        image: (S, S, 3).
    """
    out = fill_holes(image, parts)
    for part in parts:
        piece = image[part.top : part.top + part.height, part.left : part.left + part.width]
        out[part.y : part.y + part.height, part.x : part.x + part.width] = piece
    return out


def fill_holes(image: Uint8, parts: Sequence[ImagePart]) -> Uint8:
    """Return the image without its parts, the holes filled with a blur of the surroundings.

    With m = 0 where something was cut and 1 elsewhere it is G(m x) / G(m), G a Gaussian of half the longest side of a
    part (normalised convolution, Knutsson and Westin 1993); the mean colour where nothing is left.

    Args:
        image: (S, S, 3).
    """
    out = image.copy()
    hole = np.zeros(image.shape[:2], bool)
    for part in parts:
        hole[part.top : part.top + part.height, part.left : part.left + part.width] = True
    if hole.all():
        out[:] = np.rint(image.mean(axis=(0, 1)))
    elif hole.any():
        sigma = max(max(part.width, part.height) for part in parts) / 2
        weight = _smooth((~hole).astype(np.float64)[..., None], sigma)
        smooth = _smooth(image * ~hole[..., None], sigma) / np.maximum(weight, 1e-12)
        out[hole] = np.rint(np.clip(smooth, 0, 255))[hole]
    return out


def _smooth(values: NDArray[Any], sigma: float) -> Float64:
    smoothed: Float64 = gaussian_filter(
        values.astype(np.float64), (sigma, sigma, 0), mode="nearest", truncate=8
    )
    return smoothed


def encode_parts(parts: Sequence[ImagePart]) -> str:
    """Encode parts for a link, six characters each; sides count from 1."""
    return "".join(
        SIGNS[number - (place in (2, 3))] for part in parts for place, number in enumerate(astuple(part))
    )


def decode_parts(text: str, size: int) -> PlacedParts | None:
    """Decode parts of an image of `size` px from a link; None if the text is invalid."""
    if len(text) % _NUMBERS or not 0 < len(text) <= MOST * _NUMBERS or not {*text} <= {*SIGNS}:
        return None
    numbers = [SIGNS.index(sign) for sign in text]
    parts = tuple(
        ImagePart(left, top, width + 1, height + 1, x, y)
        for left, top, width, height, x, y in zip(
            *(numbers[i::_NUMBERS] for i in range(_NUMBERS)), strict=True
        )
    )
    return parts if all(_is_inside(part, size) for part in parts) else None


def _is_inside(part: ImagePart, size: int) -> bool:
    across = max(part.left, part.x) + part.width <= size
    down = max(part.top, part.y) + part.height <= size
    return across and down and min(part.width, part.height) >= LEAST_PX
