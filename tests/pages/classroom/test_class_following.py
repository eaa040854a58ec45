"""Classes on the pages: opened, joined, followed, left, and what stays private."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.classroom import class_bar, membership
from pages.controls import session_keys
from pages.stores import classes as stored
from pages.stores import lessons, uploads
from pages.stores.session import UserSession
from tests.files import png
from tests.pages.classroom.helpers import (
    ATTENTION,
    PATCHES,
    ROOM,
    at,
    bar,
    code_of,
    learns,
    place,
    press,
    there,
    words,
)
from tests.pages.conftest import OpenApp, opened_again, query_value
from vitviz.classes.class_store import MAX_MEMBERS
from vitviz.classes.codes import format_code
from vitviz.classes.database import ClassError
from vitviz.lessons.lesson import Lesson, Link, Stop
from vitviz.lessons.task_checks import PageOpen


def test_a_class_is_opened_in_one_click(teacher: AppTest) -> None:
    code = code_of(teacher)
    assert query_value(teacher, "class") == code
    page = " ".join(str(each.proto) for each in teacher.get("html"))
    assert f"class_room?class={code}" in page and "data:image/png;base64," in page
    assert "no learners yet" in bar(teacher) and format_code(code) in bar(teacher)


def test_who_opens_the_link_is_in_and_follows(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    assert not place(learner).leads and at(learner) == "class_room"
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    assert at(learner) == "attention" and query_value(learner, "model") == "preset:vit_digits"
    teacher.run()
    assert "1 following" in bar(teacher)
    for app in (teacher, learner):
        assert app.main.markdown[0].value == bar(app)  # above the page


def test_controls_pin_and_image_follow(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    teacher.slider(key="attention.layer").set_value(1)
    teacher.number_input(key="nouns.index").set_value(7)
    teacher.query_params["pin"] = "0.100,0.900"
    teacher.run()
    there(learner.run())
    assert not learner.exception
    for key in ("attention.layer", "image", "pin", "step", "model"):
        assert query_value(learner, key) == query_value(teacher, key), key
    assert query_value(learner, "image") == "digits:7" and learner.slider(key="attention.layer").value == 1


def test_both_sides_know_what_the_other_sees_while_the_teacher_is_at_the_class_s_page(
    teacher: AppTest, open_app: OpenApp
) -> None:
    assert "Open any page, and learners follow you there." in words(teacher)
    learner = learns(open_app, teacher)
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    learner.slider(key="attention.layer").set_value(1).run()
    teacher.switch_page(ROOM).run()
    assert "Learners see Attention until you open a page." in words(teacher)
    there(learner.run())
    assert at(learner) == "attention" and query_value(learner, "attention.layer") == "1", (
        "the page stays as it was"
    )
    assert "teacher on Classroom page" in bar(learner)
    late = learns(open_app, teacher)
    assert at(late) == "attention" and "teacher on Classroom page" in bar(late)
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    assert bar(learner).endswith("following the teacher")
    teacher.switch_page(PATCHES).run()
    teacher.switch_page(ROOM).run()
    there(learner.run())
    assert at(learner) == "patches", "a learner who missed the page while it was open gets it"


def test_a_link_to_a_stop_and_a_class_opens_the_stop_s_page(teacher: AppTest, open_app: OpenApp) -> None:
    learner = there(open_app(lesson="fifteen", stop="2", **{"class": code_of(teacher)}))
    assert at(learner) == "patches" and code_of(learner) == code_of(teacher)


def test_looking_around_lets_go_and_back_to_class_returns(teacher: AppTest, open_app: OpenApp) -> None:
    teacher.switch_page(PATCHES).run()
    learner = learns(open_app, teacher)
    assert at(learner) == "patches"
    learner.button(key="class.around").click().run()
    learner.query_params["pin"] = "cls"
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    assert (
        at(learner) == "patches" and "not following" in bar(learner) and query_value(learner, "pin") == "cls"
    )
    teacher.run()
    assert "0 of 1 following" in bar(teacher)
    there(learner.button(key="class.back").click().run())
    assert at(learner) == "attention" and "following the teacher" in bar(learner)
    assert "pin" not in learner.query_params  # as on the teacher's page


def test_who_goes_to_another_page_looks_around(teacher: AppTest, open_app: OpenApp) -> None:
    teacher.switch_page(PATCHES).run()
    learner = learns(open_app, teacher)
    learner.switch_page(ROOM).run()
    assert place(learner).follows  # the class's own page is beside the way
    learner.switch_page(ATTENTION).run()
    assert not place(learner).follows and at(learner) == "attention"


def test_a_lesson_is_followed_stop_by_stop(teacher: AppTest, open_app: OpenApp) -> None:
    code = code_of(teacher)
    learner = open_app(ROOM, **{"class": code})
    teacher = opened_again(teacher, teacher.session_state["_visit"], lesson="fifteen", stop="2")
    teacher.switch_page(PATCHES).run()
    there(learner.run())
    assert learner.session_state["_lesson"] == ("fifteen", 2)
    teacher.button(key="lesson.leave").click().run()
    there(learner.run())
    assert learner.session_state["_lesson"] is None


def test_a_lesson_of_the_teachers_own_is_read_once_it_is_shown_and_as_long_as_it_is_open(
    teacher: AppTest, open_app: OpenApp
) -> None:
    learner = learns(open_app, teacher)
    stops = (
        Stop(
            "First *stop*", Link("patches"), "Words of mine <b>alone</b>.", "Look once.", PageOpen("patches")
        ),
        Stop("Second stop", Link("patches"), "More words.", "Look twice.", PageOpen("patches")),
    )
    lessons.get_shelf(teacher.session_state["_visit"]).own[lessons.MINE] = Lesson("Ours", stops)
    teacher.switch_page(PATCHES)
    teacher.query_params |= {"lesson": lessons.MINE, "stop": "1"}
    teacher.run()
    assert "mine" not in words(there(learner.run())) and any(
        button.label == "Share lesson with the class" for button in teacher.button
    )
    press(teacher, "Share lesson with the class")
    there(learner.run())
    panel = [each.value for each in learner.main.markdown]
    assert "**First \\*stop\\***" in panel and any("mine \\<b" in each for each in panel)
    assert at(learner) == "patches" and learner.session_state["_lesson"] is None
    assert "lesson: Ours" in words(learner) and not any(
        button.label == "Share lesson with the class" for button in teacher.button
    )
    teacher.query_params["stop"] = "2"
    teacher.run()
    assert "More words." in words(there(learner.run())) and "mine" not in words(learner)
    learner.button(key="class.around").click().run()
    assert "More words." not in words(there(learner.run()))
    learner.button(key="class.back").click().run()
    assert "More words." in words(there(learner))
    teacher.button(key="lesson.leave").click().run()
    assert "More words." not in words(there(learner.run()))


def test_no_link_makes_a_teacher(teacher: AppTest) -> None:
    other = opened_again(teacher, UserSession("another"))
    assert not place(other).leads
    assert "class_room.close" not in {button.key for button in other.button}
    again = opened_again(teacher, teacher.session_state["_visit"])
    assert place(again).leads


def test_a_teachers_upload_is_seen_once_it_is_shown(teacher: AppTest, open_app: OpenApp) -> None:
    here = teacher.session_state["_visit"]
    image = uploads.store_image(here, png())
    learner = learns(open_app, teacher)
    before = query_value(learner, "image")
    teacher = opened_again(teacher, here, image=image)
    teacher.switch_page(PATCHES).run()
    there(learner.run())
    assert at(learner) == "patches" and query_value(learner, "image") == before
    assert class_bar.STORAGE_NOTICE in teacher.button(key="class.show").help
    secret = image.removeprefix("upload:").encode()
    path = stored.get_classes().database.path
    assert all(secret not in each.read_bytes() for each in path.parent.glob(f"{path.name}*"))
    teacher.button(key="class.show").click().run()
    there(learner.run())
    copy = query_value(learner, "image")
    assert copy.startswith("upload:") and copy != image and query_value(teacher, "image") == image
    uploads.STORE.entries.clear()  # as in another process, or after the teacher has left
    there(learner.run())
    assert (
        query_value(learner, "image") == copy and uploads.STORE.get(copy.removeprefix("upload:")) is not None
    )
    stored.get_classes().close(code_of(teacher), here.owner)
    there(learner.run())
    assert uploads.STORE.get(copy.removeprefix("upload:")) is None


def warnings_of(app: AppTest) -> list[str]:
    return [each.value.replace("\\", "") for each in app.warning]


def test_a_class_that_is_over_is_reported_and_the_page_goes_on(teacher: AppTest, open_app: OpenApp) -> None:
    teacher.switch_page(PATCHES).run()
    learner = learns(open_app, teacher)
    teacher.switch_page(ROOM).run()
    teacher.button(key="class_room.close").click().run()
    assert teacher.session_state["_class"] is None and "class" not in teacher.query_params
    there(learner.run())
    assert warnings_of(learner) == [membership.CLASS_CLOSED] and at(learner) == "patches"
    assert warnings_of(learner.run()) == [membership.CLASS_CLOSED], "until it is dismissed"


def test_wrong_codes_are_reported_and_too_many_have_to_wait(open_app: OpenApp) -> None:
    app = open_app(ROOM)
    for _ in range(10):
        app.text_input(key="class_room._code").set_value("K7QM4T")
        press(app, "Join")
        assert "No open class" in app.warning[0].value
    press(app, "Join")
    assert "five minutes" in app.warning[0].value
    app = open_app(PATCHES, **{"class": "<script>"})
    assert warnings_of(app) == [membership.CLASS_UNKNOWN]


def test_the_operator_may_ask_for_a_code(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_CLASS_CODE", "Dürer 1471")
    app = open_app(ROOM)
    app.button(key="class_room.open").click().run()
    assert "_class" not in app.session_state and "operator" in app.warning[0].value
    app.text_input(key="class_room._operator").set_value(" Dürer 1471 ").run()
    app.button(key="class_room.open").click().run()
    assert place(app).leads
    guesser, another = UserSession("guesser"), UserSession("another")
    for _ in range(10):
        assert not stored.check_operator_code(guesser, "1.2.3.4", "wrong")
    with pytest.raises(ClassError, match="too many"):
        stored.check_operator_code(guesser, "1.2.3.4", "Dürer 1471")
    assert stored.check_operator_code(another, "1.2.3.4", "Dürer 1471"), "an address may be a school's"


def test_codes_are_guessed_slowly_from_fresh_sessions(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fresh session had ten guesses, and each address that a header named had ten for the operator's code."""
    delays_s: list[float] = []
    monkeypatch.setattr(stored, "time", SimpleNamespace(sleep=delays_s.append))
    begun_s = time.monotonic()
    monkeypatch.setattr("vitviz.classes.codes.time", SimpleNamespace(monotonic=lambda: begun_s))
    monkeypatch.setenv("VITVIZ_CLASS_CODE", "Dürer 1471")
    refused = 0
    for guess in range(100):
        try:
            stored.check_operator_code(UserSession(str(guess)), f"2001:db8::{guess:x}", "wrong")
        except ClassError:
            refused += 1
    assert refused > 60 and max(delays_s) > 5
    app = open_app(ROOM)
    app.text_input(key="class_room._code").set_value("K7QM4T")
    press(app, "Join")
    assert "No open class" in app.warning[0].value and delays_s[-1] == 0, "another network goes on"
    for guess in range(230):
        stored.check_operator_code(UserSession(f"{guess}"), f"10.0.{guess}.1", "wrong")
    assert delays_s[-1] > 5, "addresses that a header invents are delayed together"
    assert stored.check_operator_code(UserSession("right"), "192.0.2.1", "Dürer 1471")


def test_who_is_in_no_class_costs_nothing(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "get_classes", lambda: pytest.fail("the file of classes was asked for"))
    app = open_app(PATCHES)
    app.run()
    assert "_class" not in app.session_state


def test_a_damaged_file_is_one_sentence_on_every_page(teacher: AppTest, open_app: OpenApp) -> None:
    path = stored.get_classes().database.path
    stored.get_classes().database.close()
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(b"no database, though long enough to be looked at " * 100)
    for app in (teacher.run(), open_app(PATCHES, **{"class": code_of(teacher)}), open_app(ROOM)):
        said_so = [each.value.replace("\\", "") for each in (*app.warning, *app.caption)]
        assert not app.exception and any("damaged" in words for words in said_so)


def test_who_is_in_a_class_that_cannot_be_reached_now_follows_again(
    teacher: AppTest, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page without the class's bar would never have asked again: of a hundred learners two were lost so."""
    learner = learns(open_app, teacher)
    asked: dict[str, float | None] = {}
    fragment = st.fragment

    def noted(*given: Any, key: Any = None, run_every: Any = None) -> Any:
        asked[key] = run_every
        return fragment(*given, key=key, run_every=run_every)

    monkeypatch.setattr(st, "fragment", noted)
    with monkeypatch.context() as patch:
        patch.setattr(stored.get_classes().database, "query_cached", busy)
        learner.run()
        assert "busy" in " ".join(each.value for each in learner.caption) and "following the teacher" in bar(
            learner
        )
        assert asked.pop(class_bar.HEARTBEAT)
        late = open_app(PATCHES, **{"class": code_of(teacher)})
        assert "busy" in late.warning[0].value and query_value(late, "class") == code_of(teacher)
        assert asked.pop(class_bar.HEARTBEAT) == class_bar.RETRY_S  # who stands at the door knocks
    teacher.switch_page(ATTENTION).run()
    there(learner.run())
    assert at(learner) == "attention" and not learner.exception
    there(late.run())
    assert place(late).follows and at(late) == "attention"


@pytest.mark.parametrize("alone", [True, False])
def test_a_knock_runs_the_page_again_and_no_page_for_ever(
    monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    again: list[bool] = []
    monkeypatch.setattr(session_keys, "is_fragment_run", lambda: alone)
    monkeypatch.setattr(class_bar.st, "rerun", lambda: again.append(True))
    class_bar._retry()
    assert bool(again) == alone


def busy(*_: object) -> None:
    raise ClassError("the classes of this server are busy")


def test_a_full_class_is_reported(teacher: AppTest, open_app: OpenApp) -> None:
    for i in range(MAX_MEMBERS):
        stored.get_classes().record_learner(code_of(teacher), str(i), True)
    learner = open_app(PATCHES, **{"class": code_of(teacher)})
    assert any("full" in each.value for each in learner.caption)


def test_a_nickname_is_bounded_and_kept(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    learner.text_input(key="class_room._name").set_value("Ada \n <b>")
    there(learner.run())
    with stored.get_classes().database.reading() as file:
        assert file is not None
        assert file.execute("SELECT name FROM member").fetchall() == [("Ada <b>",)]
    learner.button(key="class_room.leave").click().run()
    assert learner.session_state["_class"] is None
    assert stored.get_classes().count_present(code_of(teacher)).present == 0
