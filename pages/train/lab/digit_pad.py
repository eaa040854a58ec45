"""A pad to draw a digit on, with the model's answer beside it."""

from __future__ import annotations

import base64
import binascii

import numpy as np
from numpy.typing import NDArray

from pages.views.register import register

SIDE = 56  # px of the drawing that travels
_pad = register(__file__, "digit_pad")


def digit_pad(payload: bytes, *, key: str) -> NDArray[np.uint8] | None:
    """Mounts the pad with an answer; returns the drawing (56, 56), light on dark, or None while it is empty."""
    return decode(_pad(payload, key=key, states=("drawing",)).drawing)


def decode(text: object) -> NDArray[np.uint8] | None:
    """The drawing that the browser sent; None where it sent none, or something else."""
    if not isinstance(text, str) or len(text) > 2 * SIDE * SIDE:
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != SIDE * SIDE:
        return None
    return np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE)
