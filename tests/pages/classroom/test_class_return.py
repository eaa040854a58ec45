"""Links without a class, and restarts of the server: who leads goes on leading, who explores goes on exploring."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.classroom import membership
from pages.stores import uploads
from pages.stores.session import UserSession
from tests.files import png
from tests.pages.classroom.helpers import (
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
from tests.pages.classroom.test_class_asking import BRANCH, FIFTEEN, at_stop
from tests.pages.conftest import ROOT, OpenApp, query_value
from vitviz.classes.codes import format_code


def open_link(user: UserSession, slug: str, **query: str) -> AppTest:
    """Return the app in a new tab of a user's browser, at a link."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.session_state["_visit"] = user
    app._page_hash = calc_hash(slug)
    app.query_params |= query
    return app.run()


def restart(app: AppTest) -> UserSession:
    """Return the user of an app as a restarted server knows it: by the cookie alone."""
    uploads.STORE.entries.clear()
    return UserSession(app.session_state["_visit"].token)


def test_a_prepared_link_keeps_the_teacher_leading(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    for user in (teacher.session_state["_visit"], restart(teacher)):
        link = open_link(user, "attention", model="preset:vit_digits", image="digits:4")
        assert place(link).leads and query_value(link, "class") == code_of(teacher)
        there(learner.run())
        assert at(learner) == "attention" and query_value(learner, "image") == "digits:4"
    assert "_class" not in open_link(UserSession("another"), "attention").session_state


def test_a_teacher_outside_of_the_class_can_go_on_with_it_on_every_page(
    teacher: AppTest, open_app: OpenApp
) -> None:
    user, code = teacher.session_state["_visit"], code_of(teacher)
    second = membership.get_class_store().open(user.owner)
    user.notes.pop("class")
    app = open_link(user, "patches")
    press(app, f"Go on with class {format_code(code)}")
    assert place(app).leads and query_value(app, "class") == code
    assert not any(button.label.startswith("Go on") for button in app.run().button)
    assert second != code


def test_who_explores_goes_on_exploring_after_a_restart(teacher: AppTest, open_app: OpenApp) -> None:
    learner = learns(open_app, teacher)
    learner.button(key="class.around").click().run()
    again = open_link(restart(learner), "patches", **{"class": code_of(teacher)})
    assert not place(again).follows and "not following" in bar(again)


def test_a_restart_keeps_the_teachers_shared_image(teacher: AppTest, open_app: OpenApp) -> None:
    image = uploads.store_image(teacher.session_state["_visit"], png())
    learner = learns(open_app, teacher)
    teacher.switch_page(PATCHES)
    teacher.query_params["image"] = image
    teacher.run()
    teacher.button(key="class.show").click().run()
    copy = query_value(there(learner.run()), "image")
    link = open_link(restart(teacher), "patches", image=image)
    assert query_value(link, "image") == image and place(link).images == {image: copy}
    there(learner.run())
    assert query_value(learner, "image") == copy


def test_a_learner_sees_no_measured_answer_before_the_teacher_shows_it(
    teacher: AppTest, open_app: OpenApp
) -> None:
    learner = learns(open_app, teacher)
    question = FIFTEEN.stops[BRANCH - 1].question
    assert question is not None
    teacher = at_stop(teacher, BRANCH)
    there(learner.run())
    key = f"lesson.fifteen.{BRANCH}"
    learner.button_group(key=f"{key}.guess").set_value("0")
    learner.run()
    press(there(learner), "Measure")
    options = {group.key: group for group in learner.get("button_group")}
    assert options[f"{key}.answer"].disabled and options[f"{key}.answer"].value == "0"
    press(teacher, "Ask the class")

    def check_hidden(app: AppTest) -> None:
        assert not app.exception and {"Measure", "Predict again"}.isdisjoint(
            button.label for button in app.button
        )
        assert {f"{key}.guess", f"{key}.answer"}.isdisjoint(group.key for group in app.get("button_group"))
        for name, value in question.proof:
            assert "." not in name or name not in app.query_params or query_value(app, name) != value

    check_hidden(there(learner.run()))
    proof = dict(question.proof)
    stop = FIFTEEN.stops[BRANCH - 1].link
    user = learner.session_state["_visit"]
    link = open_link(user, stop.slug, **{**stop.values, **proof, "model": "preset:vit_digits"})
    assert not place(link).leads and "Submit answer" in {button.label for button in link.button}
    check_hidden(link)
    press(teacher.run(), "Measure and show")
    there(learner.run())
    assert "Measured:" in words(learner)
    assert f"{key}.answer" in {group.key for group in learner.get("button_group")}


def test_the_teachers_key_opens_the_lead_in_another_browser_until_it_is_revoked(
    teacher: AppTest, open_app: OpenApp
) -> None:
    press(teacher, "Create key")
    link = next(block.value for block in teacher.code)
    address, _, fragment = link.partition("#")
    assert address.endswith("/lead") and fragment == f"{code_of(teacher)}.{place(teacher).key}"
    phone = open_app(ROOM)
    phone.session_state["class_room.key"] = {"open": f"{code_of(teacher)}.{'x' * 32}"}
    assert "wrong or was revoked" in words(phone.run()) and "_class" not in phone.session_state
    phone.session_state["class_room.key"] = {"open": f"{code_of(teacher)}.{place(teacher).key}"}
    phone.run()
    assert not phone.exception and place(phone).leads and place(teacher.run()).leads
    again = open_link(restart(phone), "attention", **{"class": code_of(teacher)})
    assert place(again).leads, "from then on the cookie leads"
    press(teacher, "Revoke key")
    phone.session_state["class_room.key"] = {}
    assert not place(phone.run()).leads and place(teacher.run()).leads
    assert place(teacher).key == "" and not teacher.code
