"""Encode images for the browser, so that a photograph is a small message."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Uint8 = NDArray[np.uint8]
EXACT_PX = 256  # up to this side every pixel is exact; above, what JPEG leaves of it
QUALITY = 88


@dataclass(frozen=True, eq=False)
class Photo:
    """An image (H, W, 3) uint8, and the file that a browser decodes; `kind` is its media type."""

    pixels: Uint8
    kind: str
    data: bytes

    @property
    def header(self) -> dict[str, Any]:
        """Header of a view's message: (rows, cols) in px and the media type."""
        return {"photo": {"kind": self.kind, "px": list(self.pixels.shape[:2])}}

    @property
    def array(self) -> Uint8:
        """The file as an array of a message."""
        return np.frombuffer(self.data, dtype=np.uint8)


def encode_photo(picture: Uint8, exact_px: int = EXACT_PX, **jpeg: int) -> Photo:
    """Encode an image (H, W, 3): PNG up to a side of `exact_px`, else JPEG with options such as `quality`."""
    out = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(picture))
    if max(picture.shape[:2]) <= exact_px:
        image.save(out, "PNG")
        return Photo(picture, "image/png", out.getvalue())
    image.save(out, "JPEG", **{"quality": QUALITY, **jpeg})
    return Photo(picture, "image/jpeg", out.getvalue())


def decode_photo(image: Uint8 | Photo) -> Photo:
    """Return an encoded image, encoding it if necessary."""
    return image if isinstance(image, Photo) else encode_photo(image)
