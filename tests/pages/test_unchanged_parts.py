"""A part of a page is drawn once and sent again while nothing changes; its widgets, callbacks and fragments go on."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp

SCRIPT = """
import streamlit as st
from pages.streamlit_fixes.optional import unchanged_parts

def draw():
    st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    st.caption(st.session_state.get("word", "first"))
    number = st.number_input("Number", key="number")
    st.button("Count", key="count", on_click=count)
    fragment()
    if st.session_state.get("polls"):
        st.fragment(lambda: None, run_every=9)()
    return number

def count():
    st.session_state["counted"] = st.session_state.get("counted", 0) + 1

@st.fragment
def fragment():
    st.toggle("Inside", key="inside")

number = unchanged_parts.draw_unless_unchanged(
    "_part", st.sidebar, lambda: st.session_state.get("word", ""), draw
)
st.text(f"returned {number:g}")
st.button("Elsewhere", key="elsewhere")
"""


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_string(SCRIPT).run()


def test_it_is_drawn_once_and_looks_the_same(app: AppTest) -> None:
    for _ in range(3):
        app.button(key="elsewhere").click().run()
        assert not app.exception
        assert [text.value for text in app.sidebar.caption] == ["first"]
        assert app.text[0].value == "returned 0"
        assert [len(app.sidebar.get(kind)) for kind in ("number_input", "button", "toggle")] == [1, 1, 1]
    assert app.session_state["drawn"] == 1


def test_a_changed_state_is_drawn(app: AppTest) -> None:
    app.session_state["word"] = "second"
    assert [text.value for text in app.run().sidebar.caption] == ["second"]
    assert app.run().session_state["drawn"] == 2


def test_its_widgets_keep_their_values_and_callbacks(app: AppTest) -> None:
    app.run().sidebar.number_input(key="number").set_value(7.0).run()
    assert (app.text[0].value, app.session_state["drawn"]) == ("returned 7", 2)
    assert (app.run().text[0].value, app.session_state["drawn"]) == ("returned 7", 2)
    app.sidebar.button(key="count").click().run()
    assert app.session_state["counted"] == 1
    app.sidebar.toggle(key="inside").set_value(True).run()
    assert app.run().session_state["inside"] is True
    assert app.session_state["number"] == 7


def test_a_value_set_by_the_script_is_drawn(app: AppTest) -> None:
    app.run()
    app.session_state["number"] = 3.0
    assert app.run().text[0].value == "returned 3"


def test_what_polls_is_drawn_in_every_run() -> None:
    app = AppTest.from_string(SCRIPT)
    app.session_state["polls"] = True
    assert app.run().run().session_state["drawn"] == 2


def test_plain_streamlit_draws_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_PLAIN_STREAMLIT", "1")
    app = AppTest.from_string(SCRIPT).run().run()
    assert (app.session_state["drawn"], app.text[0].value) == (2, "returned 0")


def test_the_sidebar_is_sent_again_with_its_selection(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/patches/page.py", model="preset:vit_digits", image="digits:3").run()
    recording = app.session_state["nouns._sidebar"]
    app.main.number_input(key="patches.column").set_value(5).run()
    assert app.session_state["nouns._sidebar"] is recording
    assert {key: app.query_params[key] for key in ("model", "image")} == {
        "model": "preset:vit_digits",
        "image": "digits:3",
    }
    app.sidebar.number_input(key="nouns.index").set_value(4).run()
    assert app.session_state["_selection"].image == "digits:4"
    assert app.session_state["nouns._sidebar"] is not recording
