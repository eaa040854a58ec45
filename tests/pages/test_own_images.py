"""A user's own image in the sidebar: how it is shown in small, cut, shared and removed."""

import base64
import io

import pytest
from PIL import Image

from pages.controls import query_params
from tests.pages.test_shell import png, query, upload


@pytest.mark.parametrize(
    ("height", "width", "drawn", "way"),
    [
        (80, 120, (224, 149), "left to right"),
        (150, 50, (107, 320), "top to bottom"),
        (30, 240, (512, 64), "left"),
    ],
)
def test_a_long_image_in_small_is_large_enough_and_sharp_on_two_pixels_to_one(
    open_app, height, width, drawn, way
):
    app = upload(open_app(model="preset:vit_tiny_16"), png(size=(width, height)))
    address = app.sidebar.get("image")[-1].proto.imgs[0].url
    shown = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert shown.size == drawn
    assert way in app.sidebar.slider(key="nouns.crop").label


def test_another_user_sees_an_upload_by_its_link_and_cannot_remove_it(open_app):
    mine = upload(open_app(model="preset:vit_tiny_16"), png())
    image = query(mine)["image"]
    theirs = open_app(model="preset:vit_tiny_16", image=image)
    assert any("An uploaded image" in text.value for text in theirs.sidebar.markdown)
    assert not any("Your image" in text.value for text in theirs.sidebar.markdown)
    next(button for button in theirs.sidebar.button if "Hide" in button.label).click().run()
    assert query(theirs)["image"] == "sample:cat"
    assert query(mine.run())["image"] == image and not mine.warning
    assert any("Your image" in text.value for text in mine.sidebar.markdown)


def test_another_image_is_cut_in_its_middle(open_app):
    app = open_app(model="preset:vit_tiny_16", image="sample:coffee", crop="0.2")
    app.sidebar.selectbox(key="nouns.sample").set_value("cat").run()
    assert (query(app)["image"], query(app)["crop"]) == ("sample:cat", "0.5")
    assert app.sidebar.slider(key="nouns.crop").value == 0.5
    app.sidebar.slider(key="nouns.crop").set_value(0.9).run()
    app = upload(app, png(size=(40, 90)))
    assert query(app)["crop"] == "0.5" and app.sidebar.slider(key="nouns.crop").value == 0.5
    app.sidebar.slider(key="nouns.crop").set_value(0.1).run()
    next(button for button in app.sidebar.button if "Delete" in button.label).click().run()
    assert query(app)["crop"] == "0.5"


def test_the_crop_s_slider_follows_a_link(open_app, monkeypatch):
    app = open_app(model="preset:vit_tiny_16", image="sample:coffee", crop="0.2")
    before = query(app)
    app.sidebar.slider(key="nouns.crop").set_value(0.9).run()
    monkeypatch.setattr(query_params, "_STALE_S", 0.0)  # the choice is long ago
    app.query_params.update(before)
    app.run()
    assert query(app)["crop"] == "0.2" and app.sidebar.slider(key="nouns.crop").value == 0.2
