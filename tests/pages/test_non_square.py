"""Pages with a model of 14 rows and 10 columns, and with whole images: what is drawn has their rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import own_weights
from tests.messages import message, photo_of
from tests.pages.conftest import OpenApp
from tests.random_models import random_model
from vitviz.config import ViTConfig
from vitviz.models.formats.uploaded_weights import TemporaryFolder

ROWS, COLS, PX = 14, 10, 4
ATTENTION, PATCHES, LAYERS, TWO_IMAGES, POSITIONS, BLOCK = (
    f"pages/lenses/{name}/page.py"
    for name in ("attention", "patches", "layers", "two_images", "positions", "block")
)


@pytest.fixture
def tall() -> Iterator[str]:
    """A user's own model of images of 56 x 40 px."""
    size = (ROWS * PX, COLS * PX)
    config = ViTConfig(image_size=size, patch_size=PX, num_classes=4, embed_dim=16, depth=2, num_heads=2)
    origin = {"classes": tuple("abcd"), "title": "Tall", "trained_on": "images", "digest": "tall"}
    model = random_model(config, **origin)
    yield f"weights:{own_weights.STORE.add(own_weights.OpenedModel(model, 1, TemporaryFolder()), 'me')}"
    own_weights.STORE.entries.clear()


def drawn(app: AppTest, view: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    assert not app.exception and not app.main.error
    return message(app, view)


def test_attention_draws_the_grid_on_a_crop_of_its_proportions(open_app: OpenApp, tall: str) -> None:
    app = open_app(ATTENTION, model=tall, image="sample:cat", pin="0.99,0.99")
    header, arrays = drawn(app, "attention.explorer")
    assert header["grid"] == [ROWS, COLS]
    height, width = photo_of(arrays).shape[:2]
    assert width / height == pytest.approx(COLS / ROWS, rel=0.01)
    assert app.query_params["pin"] == "0.990,0.990" and "row 14, column 10" in app.main.caption[0].value
    header, arrays = drawn(
        open_app(ATTENTION, model=tall, image="sample:cat", attention__view="methods"), "attention.methods"
    )
    assert header["panels"][0]["grid"] == [ROWS, COLS]
    header, arrays = drawn(
        open_app(ATTENTION, model=tall, image="sample:cat", attention__view="matrix"), "attention.matrix"
    )
    assert header["grid"] == [ROWS, COLS] and (1 + ROWS * COLS,) * 2 in {a.shape for a in arrays.values()}


def test_patches_cuts_rows_and_columns(open_app: OpenApp, tall: str) -> None:
    app = open_app(PATCHES, model=tall, image="sample:cat")
    header, arrays = drawn(app, "patches.stage")
    assert (header["rows"], header["cols"]) == (ROWS, COLS)
    assert arrays["shown"].shape == (ROWS * PX, COLS * PX, 3)
    assert arrays["values"].shape == (3, ROWS * PX, COLS * PX)
    assert arrays["tokens"].shape == (ROWS * COLS, 16)
    assert "56 · 40/4² = 140 patches" in app.main.caption[0].value
    # The view computes x E + b of a patch from these values as the model does.
    patch = arrays["values"][:, 5 * PX : 6 * PX, 9 * PX : 10 * PX].reshape(-1)
    expected = arrays["weight"] @ patch + arrays["bias"]
    np.testing.assert_allclose(arrays["tokens"][5 * COLS + 9], expected, atol=1e-5)


@pytest.mark.parametrize(
    "page, view, key",
    [
        (LAYERS, {"layers__view": "colours"}, "layers.colours"),
        (LAYERS, {"layers__view": "token"}, "layers.similar"),
        (TWO_IMAGES, {}, "two_images.match"),
        (TWO_IMAGES, {"two_images__view": "colours"}, "two_images.colours"),
        (POSITIONS, {}, "positions.mosaic"),
    ],
)
def test_every_grid_has_rows_and_columns(
    open_app: OpenApp, tall: str, page: str, view: dict[str, str], key: str
) -> None:
    header, _ = drawn(open_app(page, model=tall, image="sample:cat", **view), key)
    grids = [part["grid"] for name in ("panels", "layers") for part in header.get(name, ()) if "grid" in part]
    assert [ROWS, COLS] in grids and [COLS, ROWS] not in grids and [ROWS, ROWS] not in grids


WHOLE = {"model": "preset:vit_shapes", "image": "sample:cat", "whole": "1"}  # 451 x 300 px: 8 x 12 patches


@pytest.mark.parametrize("page, key", [(ATTENTION, "attention.explorer"), (PATCHES, "patches.stage")])
def test_a_whole_image_is_drawn_in_its_proportions(open_app: OpenApp, page: str, key: str) -> None:
    app = open_app(page, **WHOLE)
    header, _ = drawn(app, key)
    assert [header["rows"], header["cols"]] == [8, 12] if "rows" in header else header["grid"] == [8, 12]
    assert app.query_params["whole"] == "1"
    assert app.sidebar.toggle(key="nouns.whole").value is True
    assert not any("Crop" in slider.label for slider in app.sidebar.slider)
    app.sidebar.toggle(key="nouns.whole").set_value(False).run()
    header, _ = drawn(app, key)
    assert [header["rows"], header["cols"]] == [8, 8] if "rows" in header else header["grid"] == [8, 8]
    assert "whole" not in app.query_params
    assert any("Crop" in slider.label for slider in app.sidebar.slider)


def test_a_swin_and_a_comparing_page_keep_the_crop(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/swin/page.py", **WHOLE | {"model": "preset:swin_digits_rgb"})
    toggles = [toggle for toggle in app.sidebar.toggle if toggle.key == "nouns.whole"]
    assert all(toggle.disabled and "Only a ViT" in toggle.help for toggle in toggles)
    app = open_app("pages/lenses/on_your_image/page.py", **WHOLE)
    assert not [toggle for toggle in app.sidebar.toggle if toggle.key == "nouns.whole"]
    assert app.query_params["whole"] == "1"  # kept for the next page


def test_a_square_image_offers_no_whole_image(open_app: OpenApp) -> None:
    app = open_app(ATTENTION, model="preset:vit_shapes", image="drawing:")
    assert not [toggle for toggle in app.sidebar.toggle if toggle.key == "nouns.whole"]
