"""An image on its way to a view."""

import io

import numpy as np
from PIL import Image

from vitviz.plots.photo import decode_photo, encode_photo
from vitviz.text import plain


def test_a_small_image_travels_exactly_and_a_large_one_small() -> None:
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (256, 256, 3), dtype=np.uint8)
    found = encode_photo(small)
    assert found.header == {"photo": {"kind": "image/png", "px": [256, 256]}}
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(found.array.tobytes()))), small)
    smooth = Image.fromarray(small[:8, :8]).resize((1120, 1120), Image.Resampling.BICUBIC)
    large = encode_photo(np.asarray(smooth))
    assert large.kind == "image/jpeg" and len(large.data) < 1120 * 1120 * 3 / 20
    assert decode_photo(large) is large and decode_photo(small).kind == "image/png"


def test_foreign_text_is_text_in_markdown() -> None:
    assert plain("a cat") == "a cat"
    assert plain("*x* [y](z) $q$ `c` :red[r]") == r"\*x\* \[y\]\(z\) \$q\$ \`c\` \:red\[r\]"
