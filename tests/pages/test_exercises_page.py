"""Check the exercises page: tasks, files and the output of correct solutions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.exercises import solution_figures
from tests.pages.conftest import OpenApp
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise
from vitviz.plots.blob import open_blob, unpack_arrays

# The computed numbers in each caption.
CAPTIONS = {
    "patchify": r" up to 4 patches .* 64 patches .* 16 values",
    "positions": r" 0\.9662 .*\(50 positions, 64 channels\)",
    "one_head": r"^Head 1 of layer 1 of .* 1\.00\.$",
    "multi_head": r" 4 heads of layer 1 .* \d+\xa0% ",
    "block": r"^One block of .*ViT.* mean length \d+\.\d, attention adds \d+\.\d and the MLP \d+\.\d\.",
    "vit": r"ViT.* \d with \d\d\.\d\xa0%: ",
    "trainable_positions": r" 0\.\d\d in the same row or column, −?0\.\d\d ",
    "without_cls": r"weights of \d in .* −?\d\.\d\d, plus a bias",
    "accuracy": r"digits .* no accuracy",
}
PAGE = "pages/exercises/page.py"


@pytest.mark.parametrize("slug", list(BY_SLUG))
def test_every_exercise_shows_what_a_right_solution_gives(open_app: OpenApp, slug: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", exercises__task=slug)
    assert app.subheader[0].value == BY_SLUG[slug].title
    returned = "\n".join(text.value for text in app.main.markdown)
    assert BY_SLUG[slug].task in returned
    header, arrays = read_operation(app)
    assert tuple(header["mistakes"]) == BY_SLUG[slug].mistakes
    patches = len(arrays["source"]) ** 2 // header["patch"] ** 2 if header["patch"] else 0
    assert len(arrays["target"]) == (patches or len(arrays["source"]))  # a row for each unit
    if header["rows"]:
        assert len(header["rows"]) == len(arrays["target"])
        np.testing.assert_allclose(arrays["target"].sum(axis=1), 1, atol=1e-5)
    caption = app.main.caption[0].value
    assert re.search(CAPTIONS[slug], caption), caption
    assert len(app.main.get("download_button")) == 5  # one of them takes the page along


def read_operation(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    (sent,) = (
        bytes(node.proto.bytes)
        for node in app.get("bidi_component")
        if node.proto.id.endswith(solution_figures.KEY)
    )
    message = sent[4 + int.from_bytes(sent[:4], "little") :]
    return open_blob(message)[0], unpack_arrays(message)


@pytest.mark.parametrize("slug", ["patchify", "positions", "one_head", "multi_head"])
def test_a_mistake_s_image_is_what_the_mistake_yields(open_app: OpenApp, slug: str) -> None:
    header, arrays = read_operation(
        open_app(PAGE, model="preset:vit_digits", image="digits:3", exercises__task=slug)
    )
    wrong = {
        name: arrays[f"mistake{i}"] for i, name in enumerate(header["mistakes"]) if f"mistake{i}" in arrays
    }
    right = arrays["target"]
    assert all(
        values.shape != right.shape or np.abs(values - right).max() > 1e-3 for values in wrong.values()
    )
    if slug == "patchify":
        np.testing.assert_array_equal(wrong["reshape instead of patchify"].ravel(), arrays["source"].ravel())
        np.testing.assert_array_equal(wrong["columns before rows"][1], right[8])
        assert "channels last" not in wrong, "the channels of a grey image are equal"
    if slug == "positions":
        np.testing.assert_array_equal(wrong["sine and cosine swapped"][:, 0], right[:, 1])
        np.testing.assert_allclose(wrong["positions from 1"][:-1], right[1:], atol=1e-6)
        np.testing.assert_allclose(
            wrong["exponent k/D"][:, 1], np.cos(np.arange(50) / 10000 ** (1 / 64)), atol=1e-6
        )
    if slug == "one_head":
        np.testing.assert_allclose(wrong["softmax over the wrong axis"].sum(axis=0), 1, atol=1e-5)
        assert wrong["missing scale"].max() > right.max() > wrong["scale by d"].max()


def test_a_solved_exercise_is_checked_on_its_tile(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", exercises__task="one_head")
    app.button(key="exercises.solved").click().run()
    (tiles,) = (node.proto.bytes for node in app.get("bidi_component") if node.proto.id.endswith("tiles"))
    assert b'["one_head","One head",true]' in tiles and b'["patchify","Patchify",false]' in tiles
    app.button(key="exercises.solved").click().run()
    (tiles,) = (node.proto.bytes for node in app.get("bidi_component") if node.proto.id.endswith("tiles"))
    assert b'["one_head","One head",false]' in tiles


def test_images_are_made_of_the_model_at_hand_or_a_vit(open_app: OpenApp) -> None:
    assert set(solution_figures.FIGURES) == {exercise.slug for exercise in EXERCISES}
    for model in (
        "preset:swin_digits",
        "preset:deit_digits",
        "preset:recipe_a",
        "checkpoint:dinov2_small_saliency",
    ):
        app = open_app(PAGE, model=model, image="digits:3", exercises__task="one_head")
        assert any("1.00" in text.value for text in app.main.caption)


def test_a_model_without_classes_is_replaced_by_one_with_classes(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, model="checkpoint:dinov2_small_saliency", image="sample:cat", exercises__task="without_cls"
    )
    assert not app.exception
    assert any("with a mean readout" in text.value for text in app.main.caption)


def test_a_solution_is_read_and_never_run(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3")
    app.session_state["exercises.drawer.solution"] = True
    app.run()
    assert any("def patchify" in box.proto.body for box in app.main.get("html"))
    monkeypatch.setattr(Exercise, "solution", lambda self: "raise SystemExit\ndef unread(): ...")
    app.run()
    assert not app.exception and any("def unread" in box.proto.body for box in app.main.get("html"))
