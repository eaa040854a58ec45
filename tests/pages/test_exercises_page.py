"""The page of exercises: every task with its files and the picture that a right solution gives."""

from __future__ import annotations

import pytest

from pages.classroom.exercises import right
from tests.pages.conftest import OpenApp
from vitviz.exercises import BY_SLUG, EXERCISES

PAGE = "pages/classroom/exercises/page.py"


@pytest.mark.parametrize("slug", list(BY_SLUG))
def test_every_exercise_shows_what_a_right_solution_gives(open_app: OpenApp, slug: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", exercises__task=slug)
    assert app.selectbox(key="exercises.task").value == slug
    said = "\n".join(text.value for text in app.main.markdown)
    assert BY_SLUG[slug].asks in said and all(slip in said for slip in BY_SLUG[slug].slips)
    assert app.main.get("plotly_chart") and app.main.caption[0].value.endswith((".", "!"))
    assert len(app.main.get("download_button")) == 2


def test_pictures_are_made_of_the_model_at_hand_or_a_vit(open_app: OpenApp) -> None:
    assert set(right._DRAWN) == {exercise.slug for exercise in EXERCISES}
    for model in ("preset:swin_digits", "preset:deit_digits", "preset:recipe_a"):
        app = open_app(PAGE, model=model, image="digits:3", exercises__task="one_head")
        assert any("every row sums to 1.00" in text.value for text in app.main.caption)


def test_a_solution_is_read_and_never_run(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3")
    app.session_state["exercises.drawer.solution"] = True
    app.run()
    assert any("def patchify" in box.proto.body for box in app.main.get("html"))
