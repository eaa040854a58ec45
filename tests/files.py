"""Files that tests upload: encoded images, zips, and zips of classes of images."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def encode(image: Image.Image | NDArray[np.generic], kind: str = "PNG", **options: object) -> bytes:
    """Return the bytes of an image file."""
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def png(colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (64, 40)) -> bytes:
    """Return a PNG of one colour; its size is (width, height)."""
    return encode(Image.new("RGB", size, colour))


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return the bytes of a valid zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def class_images(
    colours: Mapping[str, tuple[int, int, int]], count: int = 12, side: int = 32
) -> dict[str, bytes]:
    """Return PNGs 'class/number.png' of one colour a class, no two alike: their lightness is noisy."""
    rng = np.random.default_rng(0)
    return {
        f"{label}/{number}.png": encode(
            np.clip(rng.normal(0, 20, (side, side, 1)) + colour, 0, 255).astype(np.uint8)
        )
        for label, colour in colours.items()
        for number in range(count)
    }
