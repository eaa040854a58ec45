"""Questions to a class: asked, answered once and anonymously, shown, measured."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom import class_question
from pages.frame import registry
from pages.stores import classes as stored
from pages.stores import lessons
from tests.messages import message
from tests.pages.classroom.helpers import LAB, code_of, learns, place, press, there, words
from tests.pages.conftest import OpenApp, opened_again
from vitviz.classes import question_store
from vitviz.classes.class_question import ClassQuestion, HistogramBar
from vitviz.lessons.lesson import Link
from vitviz.lessons.measures import MEASURES
from vitviz.lessons.question_kinds import Drag

FIFTEEN = lessons.list_shipped(registry.BY_SLUG)["fifteen"]
WHERE = next(i for i, stop in enumerate(FIFTEEN.stops, 1) if stop.title == "What does [CLS] attend to?")
BRANCH = next(i for i, stop in enumerate(FIFTEEN.stops, 1) if stop.title == "Inside one block")


def at_stop(teacher: AppTest, number: int) -> AppTest:
    """Return the teacher's app at a stop of the first lesson, with an available model."""
    stop = FIFTEEN.stops[number - 1]
    teacher.switch_page(registry.BY_SLUG[stop.link.slug].path)
    query: dict[str, Any] = {**stop.link.values, "model": "preset:vit_digits", "step": "0"}
    query |= {"lesson": "fifteen", "stop": str(number)}
    return opened_again(teacher, teacher.session_state["_visit"], **query)


def notice(app: AppTest) -> str:
    """Return the notice at the foot of the screen."""
    return "".join(each.proto.body for each in app.get("html") if 'class="class-new' in each.proto.body)


def test_a_class_answers_and_sees_what_is_measured(teacher: AppTest, open_app: OpenApp) -> None:
    first, second = learns(open_app, teacher), learns(open_app, teacher)
    teacher = press(at_stop(teacher, BRANCH), "Ask the class")
    for app, said in (
        (teacher, "Question sent"),
        (first, "New question"),
        (second, "New question"),
    ):
        assert said in notice(app if app is teacher else there(app.run()))
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    for app, option in ((first, 0), (second, 1)):
        assert "Ask the class" not in {button.label for button in app.button}
        app.radio(key=f"class.guess.{number}").set_value(option).run()
        assert "Your answer" in words(press(app, "Submit answer")) and not notice(app)
    assert "2 answers, hidden" in words(teacher.run())
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).tally == {}  # type: ignore[union-attr]
    press(teacher, "Show answers")
    assert "2 answers so far." in words(first.run()) and "hidden" not in words(first)
    press(teacher, "Measure and show")
    for app in (teacher, first.run()):
        assert not app.exception and "Measured:" in words(app) and "1 of 2 predicted it." in words(app)
    press(teacher, "End question")
    assert "Measured:" not in words(first.run())


def test_where_it_looks_is_pointed_at(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher = press(at_stop(teacher, WHERE), "Ask the class")
    there(learner.run())
    now = question_store.load_question(stored.get_classes(), code_of(teacher))
    assert now is not None
    header, arrays = message(learner, f"class.guess.{now.number}")
    assert header["takes"] and header["grid"] == [8, 8] and arrays["counts"].size == 0 and "photo" in arrays
    learner.session_state["class.pointed"] = (now.number, 19)
    press(learner.run(), "Submit answer")
    press(teacher, "Measure and show")
    header, arrays = message(learner.run(), f"class.points.{now.number}")
    assert arrays["counts"].tolist() == [int(cell == 19) for cell in range(64)]
    assert header["own"] == 19 and 0 <= header["measured"] < 64 and not header["takes"]


def test_where_a_slider_stands_at_first_is_nobodys_answer(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    asked = ClassQuestion(
        prompt="How much?",
        kind=Drag(0.0, 1.0, 0.01, "%"),
        measure=MEASURES["variance_held"](5),
        about="",
        model="preset:vit_digits",
        step=0,
        image="digits:0",
        crop=0.5,
        proof=Link("filters"),
    )
    question_store.ask_question(stored.get_classes(), code_of(teacher), asked)
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    there(learner.run())
    button = next(each for each in learner.button if each.label == "Submit answer")
    assert button.disabled and "Drag to your answer." in words(learner)
    press(learner.slider(key=f"class.guess.{number}").set_value(40.0).run(), "Submit answer")
    question_store.reveal_answers(stored.get_classes(), code_of(teacher), number)
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).tally == {0.4: 1}  # type: ignore[union-attr]


def test_who_reloads_answers_no_second_time(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher = press(at_stop(teacher, BRANCH), "Ask the class")
    number = question_store.load_question(stored.get_classes(), code_of(teacher)).number  # type: ignore[union-attr]
    there(learner.run()).radio(key=f"class.guess.{number}").set_value(1).run()
    press(learner, "Submit answer")
    place(learner).answers.clear()  # a session that knows nothing of it
    learner.run()
    assert "Submit answer" not in {button.label for button in learner.button}
    token = learner.session_state["_visit"].token
    assert not question_store.submit_answer(stored.get_classes(), code_of(teacher), number, token, 0)
    assert question_store.load_question(stored.get_classes(), code_of(teacher)).answers == 1  # type: ignore[union-attr]


def test_a_picture_that_the_class_does_not_see_is_not_asked_about(
    teacher: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_question, "is_private", lambda value: True)
    teacher = at_stop(teacher, BRANCH)
    button = next(button for button in teacher.button if button.label == "Ask the class")
    assert button.disabled and "Share your image" in button.help


def test_of_no_class_there_is_no_button(open_app: OpenApp) -> None:
    app = open_app(LAB)
    assert not [button for button in app.button if button.label == "Ask the class"]


def test_what_a_page_alone_computes_is_not_asked_of_the_class(teacher: AppTest) -> None:
    teacher.switch_page(registry.BY_SLUG["layers"].path)
    app = opened_again(teacher, teacher.session_state["_visit"], model="preset:vit_digits", step="0")
    assert app.main.button_group(key="layers.colours_guess.row")
    assert not [button for button in app.button if button.label == "Ask the class"]


def test_words_of_others_stay_text_in_the_histogram() -> None:
    html = class_question._format_histogram(
        [HistogramBar("<img src=x onerror=alert(1)>", 2, measured=True), HistogramBar("b", 0, own=True)], 2
    )
    assert (
        "<img" not in html and "&lt;img src=x onerror=alert(1)&gt; (measured)" in html and "b (yours)" in html
    )
    assert "width: 100.0%" in html and "width: 0.0%" in html
