"""What is looked up is what Streamlit would have put together."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
import streamlit
from streamlit.cursor import LockedCursor, RunningCursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest

from pages.streamlit_fixes.optional import caching

SCRIPT = """
import streamlit as st
st.session_state.setdefault("own", [1])
st.session_state["nothing"] = None
st.selectbox("List", ["a", "b"], index=1, key="list")
st.number_input("Number", value=None, key="number")
st.selectbox("Without a key", ["c"])
"""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionState, "filtered_state", SessionState.filtered_state)
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", DeltaGenerator.__deepcopy__)
    caching.install()


@pytest.mark.usefixtures("installed")
def test_every_value_is_found_under_its_key_and_nothing_else() -> None:
    app = AppTest.from_string(SCRIPT).run()
    assert not app.exception
    state: SessionState = app.session_state._state._state
    looked_up = state.filtered_state
    assert isinstance(looked_up, caching.SessionValues)
    assert (
        dict(looked_up)
        == caching._filtered_state(state)
        == {"own": [1], "nothing": None, "list": "b", "number": None}
    )
    hidden = [key for key in state._keys() if key not in caching._filtered_state(state)]
    assert len(hidden) >= 3  # what Streamlit calls its widgets, with a key and without
    assert not any(key in looked_up for key in (*hidden, "absent"))


@pytest.mark.usefixtures("installed")
def test_widgets_keep_what_they_were_set_to() -> None:
    app = AppTest.from_string(SCRIPT).run()
    app.selectbox(key="list").set_value("a")
    app.number_input(key="number").set_value(3.0)
    app.run()
    assert (app.selectbox(key="list").value, app.number_input(key="number").value) == ("a", 3.0)


@pytest.mark.usefixtures("installed")
def test_a_copied_place_is_where_it_was_goes_its_own_way_and_stays_in_its_own_container() -> None:
    around = DeltaGenerator(0, RunningCursor(0, (1,)), block_type="column")
    around._creating_fragment_id = "f"
    within = DeltaGenerator(0, RunningCursor(0, (1, 2)), parent=around)
    within._cursor.lock_element()
    copied_around, copied = deepcopy([around, within])
    assert copied is not within and copied._parent is copied_around is not around
    assert (copied_around._block_type, copied_around._creating_fragment_id) == ("column", "f")
    assert copied._cursor.delta_path == within._cursor.delta_path == [0, 1, 2, 1]
    copied._cursor.lock_element()
    assert (copied._cursor.index, within._cursor.index) == (2, 1)
    for cursor in (RunningCursor(0, (4,)), LockedCursor(0, (4,), 3)):
        cursor.get_transient_cursor().transient_elements[0] = "for a moment"  # type: ignore[assignment]
        again = deepcopy(cursor)
        assert (again.delta_path, [*again.transient_elements]) == (cursor.delta_path, ["for a moment"])
        del again.transient_elements[0]
        assert len(cursor.transient_elements) == 1


def test_the_theme_is_reported_as_streamlit_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"primaryColor": "#123456", "headingFontSizes": ["2rem", "1rem"], "baseFontSize": 15}
    sections = {"theme": options, "theme.dark": {"textColor": "#ffffff"}, "theme.light": {"textColor": None}}
    monkeypatch.setattr(app_session.config, "get_options_for_section", sections.__getitem__)
    monkeypatch.setattr(app_session, "_populate_theme_msg", app_session._populate_theme_msg)
    caching._cached_theme.cache_clear()
    plain, lighter_ = NewSession().custom_theme, NewSession().custom_theme
    caching._read_theme(plain)
    caching._read_theme(plain.dark, "theme.dark")
    caching._read_theme(plain.light, "theme.light")
    for _ in range(2):
        lighter_.Clear()
        caching._copy_theme(lighter_)
        caching._copy_theme(lighter_.dark, "theme.dark")
        caching._copy_theme(lighter_.light, "theme.light")
        assert lighter_ == plain and lighter_.dark.text_color == "#ffffff" and not lighter_.HasField("light")
    caching._cached_theme.cache_clear()


def test_the_browser_reads_no_list_of_pages_where_a_run_begins() -> None:
    """`pages/streamlit_fixes/optional/caching.py` leaves it out of `new_session`: no browser code may ask for it."""
    served = Path(streamlit.__file__).parent / "static" / "static" / "js"
    (begins,) = [
        part.partition("}handleNavigation(")[0]
        for file in served.glob("index.*.js")
        for part in file.read_text(encoding="utf-8").split("handleNewSession(")[1:]
        if "}handleNavigation(" in part
    ]
    assert "mainScriptHash" in begins and "appPages" not in begins
