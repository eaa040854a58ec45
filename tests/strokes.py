"""Write strokes as text, as vitviz/browser/kit/drawing_pad.js does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.data.drawings import _ALPHABET


def encode_strokes(strokes: list[NDArray[np.int64]]) -> str:
    """Return strokes as text, the inverse of `parse_strokes`."""
    return ".".join(
        "".join(
            _ALPHABET[x >> 3] + _ALPHABET[(x & 7) << 3 | y >> 6] + _ALPHABET[y & 63]
            for x, y in np.asarray(stroke).tolist()
        )
        for stroke in strokes
    )
