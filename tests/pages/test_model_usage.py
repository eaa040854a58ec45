"""A model's lines for other projects, and its folder for timm and transformers."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from streamlit.testing.v1 import AppTest

from pages.selection import model_usage
from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice


def draw_usage(key: str) -> None:
    from pages.selection import model_usage
    from pages.stores import catalogue

    choice = next(choice for choice in catalogue.list_presets() if choice.key == key)
    model_usage.draw(choice, choice.last_step, "test")


def choose(key: str) -> ModelChoice:
    return next(choice for choice in catalogue.list_presets() if choice.key == key)


@pytest.mark.parametrize("key", ["preset:vit_digits", "preset:cnn_digits"])
def test_an_opened_drawer_opens_the_model_from_its_folder(key: str) -> None:
    app = AppTest.from_function(draw_usage, args=(key,)).run()
    assert not app.code
    app.session_state["test.usage"] = True
    app.run()
    assert not app.exception
    assert "vitviz_model" in app.code[0].value
    assert len(app.get("download_button")) == ("vit" in key), "timm has no such CNN"


def test_a_folder_holds_the_config_and_all_weights() -> None:
    packed = model_usage.pack_folder(choose("preset:vit_digits"), 0)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = [name.partition("/")[2] for name in archive.namelist()]
        assert {"config.json", "model.safetensors"} <= {*names}
        assert json.loads(archive.read("vitviz_model/config.json"))["num_classes"] == 10
