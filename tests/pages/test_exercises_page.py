"""Check the exercises page: tasks, files and the output of correct solutions."""

from __future__ import annotations

import re

import pytest

from pages.exercises import solution_figures
from tests.messages import charts
from tests.pages.conftest import OpenApp
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise

# The computed numbers in each caption.
CAPTIONS = {
    "patchify": r" 64 patches of 16 values",
    "positions": r" 0\.9662 .*\(50 positions, 64 channels\)",
    "one_head": r"^Head 1 of layer 1 of .* 1\.00\.$",
    "multi_head": r" 4 heads of layer 1 .* \d+\xa0% ",
    "block": r"^One block of .*ViT",
    "vit": r"ViT.* \d with \d\d\.\d\xa0%\.$",
    "trainable_positions": r" 0\.\d\d in the same row or column, −?0\.\d\d ",
    "without_cls": r"weights of \d in .* −?\d\.\d\d, plus a bias",
    "accuracy": r"digits .* no curve",
}
PAGE = "pages/exercises/page.py"


@pytest.mark.parametrize("slug", list(BY_SLUG))
def test_every_exercise_shows_what_a_right_solution_gives(open_app: OpenApp, slug: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", exercises__task=slug)
    assert app.selectbox(key="exercises.task").value == slug
    said = "\n".join(text.value for text in app.main.markdown)
    assert BY_SLUG[slug].task in said and all(mistake in said for mistake in BY_SLUG[slug].mistakes)
    assert charts(app)
    caption = app.main.caption[0].value
    assert re.search(CAPTIONS[slug], caption), caption
    assert len(app.main.get("download_button")) == 5  # one of them takes the page along


def test_pictures_are_made_of_the_model_at_hand_or_a_vit(open_app: OpenApp) -> None:
    assert set(solution_figures.FIGURES) == {exercise.slug for exercise in EXERCISES}
    for model in ("preset:swin_digits", "preset:deit_digits", "preset:recipe_a"):
        app = open_app(PAGE, model=model, image="digits:3", exercises__task="one_head")
        assert any("1.00" in text.value for text in app.main.caption)


def test_a_solution_is_read_and_never_run(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3")
    app.session_state["exercises.drawer.solution"] = True
    app.run()
    assert any("def patchify" in box.proto.body for box in app.main.get("html"))
    monkeypatch.setattr(Exercise, "solution", lambda self: "raise SystemExit\ndef unread(): ...")
    app.run()
    assert not app.exception and any("def unread" in box.proto.body for box in app.main.get("html"))
