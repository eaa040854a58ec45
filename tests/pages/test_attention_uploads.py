"""The attention explorer on pictures as the world has them."""

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


def odd_pictures() -> dict[str, bytes]:
    """Pictures as the world has them."""
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
        next(u for u in app.file_uploader if u.label == "Your picture")
        .upload(name, data, f"image/{name.partition('.')[2].replace('jpg', 'jpeg')}")
        .run()
    )


@pytest.mark.parametrize("name", odd_pictures())
def test_an_odd_picture_goes_through(open_app, name):
    app = _upload(open_app(PAGE, model="preset:vit_shapes"), name, odd_pictures()[name])
    assert not app.exception
    assert "upload:" in str(app.query_params["image"])
    header, arrays = message(app, "attention.explorer")
    assert header["grid"] == [8, 8] and header["photo"]["px"] == list(photo_of(arrays).shape[:2])


def test_a_bad_file_leaves_the_explorer_with_the_picture_before(open_app):
    app = _upload(open_app(PAGE, model="preset:vit_shapes"), "good.png", odd_pictures()["one.png"])
    before = photo_of(message(app, "attention.explorer")[1])
    app = _upload(app, "bad.png", b"\x89PNG\r\n\x1a\nno picture")
    assert not app.exception
    np.testing.assert_array_equal(photo_of(message(app, "attention.explorer")[1]), before)
