"""Check what callers pass to a view: images, numbers, indices and abilities."""

import operator
import os
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from vitviz.data.image_decoding import ImageError, check_file_size, convert_image, decode_image
from vitviz.models.abilities import Ability


def read_image(image: str | Path | Image.Image | NDArray[Any]) -> NDArray[np.uint8]:
    """Return a file's, a Pillow image's or an array's pixels, (H, W, 3) uint8, upright.

    Raises:
        ImageError, OSError, TypeError, ValueError: as `inspect`.
    """
    if isinstance(image, str | os.PathLike):
        check_file_size(Path(image).stat().st_size)
        return decode_image(Path(image).read_bytes())
    if isinstance(image, Image.Image):
        try:
            return convert_image(image)
        except OSError as error:  # Pillow reads pixels late
            raise ImageError(f"This image is truncated or damaged: {error}.") from error
    array = received = _as_array(image)
    if array.dtype.kind == "f" and array.size and 0 <= array.min() and array.max() <= 1:
        array = np.rint(255 * array).astype(np.uint8)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or array.ndim == 3 and array.shape[2] != 3:
        has_range = received.size and received.dtype.kind in "fiu"
        numbers = f" from {received.min():g} to {received.max():g}" if has_range else ""
        raise ValueError(
            "an image must be (H, W) or (H, W, 3), uint8 or floats in [0, 1],"
            f" received {received.dtype} {received.shape}{numbers}"
        )
    return np.repeat(array[..., None], 3, axis=2) if array.ndim == 2 else array


def _as_array(image: Any) -> NDArray[Any]:
    """Return a tensor's, an array's or a nested list's values.

    Raises:
        TypeError: if it is none of these.
        ValueError: if a tensor holds no values, or a list's rows differ in length.
    """
    if isinstance(image, Tensor):
        if image.is_meta or image.is_sparse or image.is_quantized:
            raise ValueError(
                "an image must be a dense tensor with values, received a meta, sparse or quantised one"
            )
        values = image.detach().cpu()
        return (values.float() if values.is_floating_point() else values).numpy()
    if not isinstance(image, list | tuple | memoryview) and not hasattr(image, "__array__"):
        raise TypeError(
            f"an image must be a path, a Pillow image or an array, received {type(image).__name__}"
        )
    try:
        return np.asarray(image)
    except ValueError as error:
        raise ValueError(
            "an image must be a rectangle of numbers, received rows of different lengths"
        ) from error


def read_number(name: str, number: object) -> float:
    """Return a number as a float.

    Raises:
        TypeError: if it is none.
    """
    if isinstance(number, bool | np.bool_) or not isinstance(number, SupportsFloat):
        raise TypeError(f"{name} must be a number, received {number!r}")
    return float(number)


def find_index(name: str, index: object, count: int) -> int:
    """Return an index from 0; a negative one counts from the end.

    Raises:
        TypeError: if it is no whole number.
        ValueError: if it is out of range.
    """
    if isinstance(index, bool | np.bool_) or not isinstance(index, SupportsIndex):
        raise TypeError(f"{name} must be a whole number, received {index!r}")
    index = operator.index(index)
    if not -count <= index < count:
        raise ValueError(f"{name} must lie in {-count}..{count - 1}, received {index}")
    return index % count


def require(ability: Ability) -> None:
    """Raise the reason as a ValueError if a model lacks an ability."""
    if not ability:
        raise ValueError(ability.why_not)
