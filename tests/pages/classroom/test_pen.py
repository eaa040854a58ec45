"""The teacher's strokes on the page that learners see."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom import pen as pen_page
from pages.stores import classes as stored
from tests.messages import message
from tests.pages.classroom.helpers import code_of, learns
from tests.pages.conftest import OpenApp
from vitviz.classes import teacher_strokes

PAGE = "pages/lenses/attention/page.py"


def draw(app: AppTest, stroke: object) -> AppTest:
    app.session_state[pen_page.KEY] = {"stroke": stroke}
    return app.run()


def test_a_stroke_of_the_teacher_is_shown_on_the_same_page_of_a_learner(
    teacher: AppTest, open_app: OpenApp
) -> None:
    learner = learns(open_app, teacher)
    teacher.switch_page(PAGE).run()
    assert message(teacher, pen_page.KEY)[0]["draws"]
    draw(teacher, [[0.25, 0.5], [0.5, 0.5]])
    assert not teacher.exception
    learner.switch_page(PAGE).run()
    header, _ = message(learner, pen_page.KEY)
    [(left_s, points)] = header["strokes"]
    assert (
        not header["draws"] and 0 < left_s <= teacher_strokes.KEPT_S and points == [[0.25, 0.5], [0.5, 0.5]]
    )


@pytest.mark.parametrize("stroke", ["<b>", [[1e9, 0]], [[0.5, 0.5]] * 5000, {"x": 1}, 3])
def test_what_is_no_stroke_is_not_shown(teacher: AppTest, stroke: object) -> None:
    assert strokes_after(teacher, teacher, stroke) == []


def test_a_learner_draws_nothing(teacher: AppTest, open_app: OpenApp) -> None:
    assert strokes_after(learns(open_app, teacher), teacher, [[0.5, 0.5]]) == []


def strokes_after(app: AppTest, teacher: AppTest, stroke: object) -> list[object]:
    """Return the class's strokes after one user drew one."""
    app.switch_page(PAGE).run()
    assert not draw(app, stroke).exception
    return [*teacher_strokes.load_strokes(stored.get_classes(), code_of(teacher))]
