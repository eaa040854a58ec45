"""A visitor's own weights in the app: opened, chosen, linked and forgotten; what does not fit leaves all as it was."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

from pages.controls import session_keys
from pages.selection import own_weights_form, sidebar
from pages.stores import own_weights
from tests.pages.conftest import OpenApp
from vitviz.config import ViTConfig
from vitviz.models.pretrained_list import find
from vitviz.models.zoo import create_model

PAGE = "pages/lenses/attention/page.py"
TINY = "deit_tiny_patch16_224.fb_in1k"


@pytest.fixture(scope="module")
def good() -> bytes:
    return save(create_model(replace(find(TINY).config, num_classes=3), seed=1).state_dict())


def uploader(app: AppTest):
    if session_keys.MODEL_DIALOG not in app.session_state or not app.session_state[session_keys.MODEL_DIALOG]:
        app.sidebar.button(key="nouns.more").click().run()
    return next(u for u in app.file_uploader if ".safetensors" in u.label)


def send(app: AppTest, data: bytes) -> AppTest:
    app.sidebar.button(key="nouns.more").click().run()
    return uploader(app).upload("mine.safetensors", data, "application/octet-stream").run()


def widget(key: str, name: str) -> str:
    return f"own_weights._{name}.{key}.{own_weights.get_model(key).digest}"


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def chips(app: AppTest) -> list[str]:
    return [text.value for text in app.sidebar.markdown if "assumption" in text.value]


def test_values_of_one_upload_are_never_applied_to_the_next(open_app: OpenApp, good: bytes) -> None:
    app = send(open_app(PAGE, image="sample:cat"), good)
    first = app.sidebar.selectbox(key="model").value
    app.text_area(key=widget(first, "labels")).set_value("ant\nbee\ncat")
    app.selectbox(key=widget(first, "heads")).set_value(6)
    app.number_input(key=widget(first, "crop")).set_value(0.5)
    app.selectbox(key=widget(first, "interpolation")).set_value("bilinear")
    app.selectbox(key=widget(first, "normalisation")).set_value("CLIP")
    press(app, "Apply")
    changed = own_weights.get_model(first)
    assert changed.preparation.crop_fraction == 0.5 and changed.config.num_heads == 6
    other = save(create_model(replace(find(TINY).config, num_classes=3), seed=2).state_dict())
    app = send(app, other)
    second = app.sidebar.selectbox(key="model").value
    before = own_weights.get_model(second)
    assert second != first
    assert app.text_area(key=widget(second, "labels")).value == "0\n1\n2"
    assert app.selectbox(key=widget(second, "heads")).value == 3
    assert app.number_input(key=widget(second, "crop")).value == before.preparation.crop_fraction != 0.5
    assert app.selectbox(key=widget(second, "interpolation")).value == "bicubic"
    press(app, "Apply")
    after = own_weights.get_model(second)
    assert (after.classes, after.config, after.preparation) == (
        ("0", "1", "2"),
        before.config,
        before.preparation,
    )


def test_an_assumption_stays_at_the_model_until_it_is_confirmed_or_changed(
    open_app: OpenApp, good: bytes
) -> None:
    app = send(open_app(PAGE, image="sample:cat"), good)
    key = app.sidebar.selectbox(key="model").value
    assumed = [note for note in own_weights.get_model(key).notes if "assum" in note]
    assert len(assumed) == 2 and "number of heads" in " ".join(assumed)
    assert ["2 assumptions" in chip for chip in chips(app)] == [True]
    for page in ("pages/lenses/layers/page.py", "pages/lenses/positions/page.py"):
        elsewhere = open_app(page, image="sample:cat", model=key)
        assert ["2 assumptions" in chip for chip in chips(elsewhere)] == [True]
    app.number_input(key=widget(key, "crop")).set_value(0.5)
    press(app, "Apply")
    assert [note for note in own_weights.get_model(key).notes if "assum" in note] == assumed
    app.sidebar.button(key="nouns.more").click().run()
    app.selectbox(key=widget(key, "heads")).set_value(6)
    press(app, "Apply")
    assert ["1 assumption" in chip for chip in chips(app)] == [True]
    assert any("name no classes" in note for note in own_weights.get_model(key).notes)
    app.sidebar.button(key="nouns.more").click().run()
    press(app, "Confirm what is assumed")
    assert not chips(app) and any("name no classes" in note for note in own_weights.get_model(key).notes)


def test_own_weights_are_a_model_of_this_session(open_app: OpenApp, good: bytes) -> None:
    app = send(open_app(PAGE, image="sample:cat"), good)
    assert not app.exception
    key = app.sidebar.selectbox(key="model").value
    assert re.fullmatch(r"weights:[\w-]{22}", key) and app.query_params["model"] == key
    assert any("Your weights · mine.safetensors: " in o for o in app.sidebar.selectbox(key="model").options)
    assert any("3 classes" in caption.value for caption in app.sidebar.caption)
    assert any("images that its file does not name" in caption.value for caption in app.caption)
    # Whoever has the link sees it; whoever has not does not.
    linked = open_app(PAGE, image="sample:cat", model=key)
    assert linked.sidebar.selectbox(key="model").value == key
    assert not any(
        "Your weights" in option for option in open_app(PAGE).sidebar.selectbox(key="model").options
    )


def test_removed_weights_are_forgotten_and_their_link_says_so(open_app: OpenApp, good: bytes) -> None:
    app = send(open_app(image="sample:cat"), good)
    key = app.sidebar.selectbox(key="model").value
    app.sidebar.button(key="nouns.more").click().run()
    next(b for b in app.button if b.label == "Delete my weights").click().run()
    assert not app.exception and not app.sidebar.warning
    assert app.sidebar.selectbox(key="model").value != key and own_weights.is_expired(key)
    late = open_app(model=key)
    assert sidebar.WEIGHTS_EXPIRED in [warning.value for warning in late.sidebar.warning]
    assert late.sidebar.selectbox(key="model").value == "preset:vit_digits"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello", "not safetensors"),
        (b"PK\x03\x04 and more", "can run code"),
        (save({"a": torch.zeros(2)}), "No vision transformer"),
        (
            save(
                {
                    "blocks.0.attn.qkv.weight": torch.zeros(6, 2),
                    "patch_embed.proj.weight": torch.zeros(2),
                    "cls_token": torch.zeros(1, 1, 2),
                    "pos_embed": torch.zeros(1, 5, 2),
                }
            ),
            "4 sides",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_the_model_stays(
    open_app: OpenApp, data: bytes, reason: str
) -> None:
    app = send(open_app(model="preset:vit_digits"), data)
    assert not app.exception
    assert reason in app.warning[0].value and app.warning[0].value.endswith(".")
    assert app.sidebar.selectbox(key="model").value == "preset:vit_digits"
    assert not own_weights.STORE.entries
    assert app.run().warning
    assert not app.button(key="own_weights._error.dismiss").click().run().warning


def test_a_pickle_is_answered_with_the_lines_that_convert_it(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits")
    assert {".pth", ".pt", ".bin"} <= set(uploader(app).allowed_type)
    uploader(app).upload("mine.pth", b"PK\x03\x04 and more", "application/octet-stream").run()
    assert "weights_only=True" in app.get("code")[0].value
    assert app.run().get("code")
    assert not app.button(key="own_weights._error.dismiss").click().run().get("code")


def test_a_file_beyond_the_limit_is_refused(
    open_app: OpenApp, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(model="preset:vit_digits")
    monkeypatch.setattr(own_weights_form, "get_upload_limit_mb", lambda: 12)
    uploader(app).upload("mine.safetensors", good, "application/octet-stream").run()
    assert "at most 12 MB" in app.warning[0].value
    assert not own_weights.STORE.entries


def test_the_owner_changes_labels_and_preprocessing(open_app: OpenApp, good: bytes) -> None:
    app = send(open_app(PAGE, image="sample:cat"), good)
    key = app.sidebar.selectbox(key="model").value
    before = own_weights.get_model(key)
    assert before.classes == ("0", "1", "2") and any("number of heads" in note for note in before.notes)

    def apply(labels: str) -> None:
        app.text_area(key=widget(key, "labels")).set_value(labels)
        app.selectbox(key=widget(key, "normalisation")).set_value("CLIP")
        app.selectbox(key=widget(key, "heads")).set_value(6)
        next(button for button in app.button if button.label == "Apply").click().run()

    apply("ant\nbee")
    assert "Expected 3 labels, one per class, received 2" in app.warning[0].value
    apply("ant\nbee\n\n cat ")
    assert not app.exception and not app.sidebar.warning
    changed = own_weights.get_model(key)
    assert changed.classes == ("ant", "bee", "cat") and changed.preparation.mean[0] == 0.48145466
    assert (
        changed.config.num_heads == 6 == changed.vit.blocks[0].attn.num_heads and before.config.num_heads == 3
    )
    assert changed.digest != before.digest and app.sidebar.selectbox(key="model").value == key
    # Who has the link sees the model and cannot change it.
    other = open_app(PAGE, image="sample:cat", model=key)
    other.sidebar.button(key="nouns.more").click().run()
    assert not [button for button in other.button if button.label in ("Apply", "Delete my weights")]


def test_a_grid_that_was_assumed_is_changed_in_the_app(open_app: OpenApp) -> None:
    """A table of 1 + 36 positions fits 6 × 6 and 4 × 9; a model of 64 × 144 px was only confirmable as a square."""
    config = ViTConfig(image_size=(64, 144), patch_size=16, embed_dim=64, depth=1, num_heads=1, num_classes=3)
    module = create_model(config, seed=1)
    app = send(open_app(PAGE), save(module.state_dict()))
    key = app.session_state["model"]
    assert chips(app) and any("(4 × 9 would fit too)" in note for note in own_weights.get_model(key).notes)
    app.selectbox(key=widget(key, "size")).set_value((64, 144))
    press(app, "Apply")
    model = own_weights.get_model(key)
    assert model.config.image_size == model.preparation.image_size == (64, 144)
    assert not any("its grid" in note for note in model.notes)
    pixels = torch.rand(1, 3, 64, 144)
    torch.testing.assert_close(model.model(pixels), module.eval()(pixels))
