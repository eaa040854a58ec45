"""Pack an attention matrix for the browser, between an image's tokens or a sentence's words."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, quantise_rows
from vitviz.models.token_layout import TokenLayout
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo

SHOWN_SHARE = (
    0.995  # of the weights lie below the colour scale's end: a few strong ones would leave the rest pale
)


def encode_image_matrix(
    attn: FloatArray, photo: Photo, layout: TokenLayout, pin: str, *, causal: bool
) -> bytes:
    """Return one head's (tokens, tokens) attention over its image, packed for `matrix.js`."""
    header = {
        "words": None,
        "prefix": list(layout.prefix),
        "grid": list(layout.grid),
        "pin": pin,
        "causal": causal,
        "top": scale_end(attn),
        **photo.header,
    }
    codes, maxima = quantise_rows(attn)
    return pack(header, codes=codes, max=maxima, photo=photo.array)


def encode_words_matrix(attn: FloatArray, words: Sequence[str], *, causal: bool) -> bytes:
    """Return the attention between the words of a sentence, packed for `matrix.js`."""
    codes, maxima = quantise_rows(attn)
    header = {
        "words": list(words),
        "prefix": [],
        "grid": [1, len(words)],
        "pin": "",
        "causal": causal,
        "top": float(attn.max()),
    }
    return pack(header, codes=codes, max=maxima)


def scale_end(attn: FloatArray) -> float:
    """Return the weight at the end of the colour scale, above nearly all weights."""
    seen: NDArray[np.floating] = attn[attn > 0]
    return float(np.quantile(seen, SHOWN_SHARE)) if seen.size else 1.0
