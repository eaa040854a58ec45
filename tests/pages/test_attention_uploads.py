"""The attention explorer on unusual uploaded images."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.files import encode
from tests.messages import message, photo_of
from tests.pages.conftest import upload

PAGE = "pages/lenses/attention/page.py"


def make_odd_images() -> dict[str, bytes]:
    """Return image files with unusual sizes and modes by name."""
    grey = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) * 5)
    palette = grey.convert("P")
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    return {
        "one.png": encode(Image.new("RGB", (1, 1), "red"), "PNG"),
        "line.png": encode(Image.new("RGB", (1, 5000), "red"), "PNG"),
        "wide.png": encode(Image.new("RGB", (5000, 1), "red"), "PNG"),
        "deep.png": encode(Image.fromarray(np.arange(48, dtype=np.uint16).reshape(6, 8) * 1365), "PNG"),
        "print.jpg": encode(grey.convert("CMYK"), "JPEG"),
        "palette.png": encode(palette, "PNG", transparency=0),
        "moving.gif": encode(palette, "GIF", save_all=True, append_images=[palette.rotate(180)]),
        "side.jpg": encode(grey, "JPEG", exif=exif),
    }


@pytest.mark.parametrize("name", make_odd_images())
def test_an_odd_image_goes_through(open_app, name):
    app = upload(open_app(PAGE, model="preset:vit_shapes"), make_odd_images()[name], name)
    assert not app.exception
    assert "upload:" in str(app.query_params["image"])
    header, arrays = message(app, "attention.explorer")
    assert header["grid"] == [8, 8] and header["photo"]["px"] == list(photo_of(arrays).shape[:2])


def test_a_bad_file_leaves_the_explorer_with_the_image_before(open_app):
    app = upload(open_app(PAGE, model="preset:vit_shapes"), make_odd_images()["one.png"])
    before = photo_of(message(app, "attention.explorer")[1])
    app = upload(app, b"\x89PNG\r\n\x1a\nno picture", "bad.png")
    assert not app.exception
    np.testing.assert_array_equal(photo_of(message(app, "attention.explorer")[1]), before)
