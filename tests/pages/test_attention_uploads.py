"""The attention explorer on unusual uploaded images."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.messages import message, photo_of

PAGE = "pages/lenses/attention/page.py"


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def make_odd_images() -> dict[str, bytes]:
    """Return image files with unusual sizes and modes by name."""
    grey = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) * 5)
    palette = grey.convert("P")
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its side
    return {
        "one.png": _file(Image.new("RGB", (1, 1), "red"), "PNG"),
        "line.png": _file(Image.new("RGB", (1, 5000), "red"), "PNG"),
        "wide.png": _file(Image.new("RGB", (5000, 1), "red"), "PNG"),
        "deep.png": _file(Image.fromarray(np.arange(48, dtype=np.uint16).reshape(6, 8) * 1365), "PNG"),
        "print.jpg": _file(grey.convert("CMYK"), "JPEG"),
        "palette.png": _file(palette, "PNG", transparency=0),
        "moving.gif": _file(palette, "GIF", save_all=True, append_images=[palette.rotate(180)]),
        "side.jpg": _file(grey, "JPEG", exif=exif),
    }


def _upload(app: AppTest, name: str, data: bytes) -> AppTest:
    app.session_state["nouns.source"] = "own"
    app.run()
    return (
        next(u for u in app.file_uploader if "safetensors" not in u.label)
        .upload(name, data, f"image/{name.partition('.')[2].replace('jpg', 'jpeg')}")
        .run()
    )


@pytest.mark.parametrize("name", make_odd_images())
def test_an_odd_image_goes_through(open_app, name):
    app = _upload(open_app(PAGE, model="preset:vit_shapes"), name, make_odd_images()[name])
    assert not app.exception
    assert "upload:" in str(app.query_params["image"])
    header, arrays = message(app, "attention.explorer")
    assert header["grid"] == [8, 8] and header["photo"]["px"] == list(photo_of(arrays).shape[:2])


def test_a_bad_file_leaves_the_explorer_with_the_image_before(open_app):
    app = _upload(open_app(PAGE, model="preset:vit_shapes"), "good.png", make_odd_images()["one.png"])
    before = photo_of(message(app, "attention.explorer")[1])
    app = _upload(app, "bad.png", b"\x89PNG\r\n\x1a\nno picture")
    assert not app.exception
    np.testing.assert_array_equal(photo_of(message(app, "attention.explorer")[1]), before)
