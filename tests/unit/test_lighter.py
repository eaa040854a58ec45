"""What is looked up is what Streamlit would have put together."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit
from streamlit.runtime.state.session_state import SessionState
from streamlit.testing.v1 import AppTest

from pages.shell import lighter

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
    lighter.install()


@pytest.mark.usefixtures("installed")
def test_every_value_is_found_under_its_key_and_nothing_else() -> None:
    app = AppTest.from_string(SCRIPT).run()
    assert not app.exception
    state: SessionState = app.session_state._state._state
    looked_up = state.filtered_state
    assert isinstance(looked_up, lighter.Values)
    assert (
        dict(looked_up) == lighter._all(state) == {"own": [1], "nothing": None, "list": "b", "number": None}
    )
    hidden = [key for key in state._keys() if key not in lighter._all(state)]
    assert len(hidden) >= 3  # what Streamlit calls its widgets, with a key and without
    assert not any(key in looked_up for key in (*hidden, "absent"))


@pytest.mark.usefixtures("installed")
def test_widgets_keep_what_they_were_set_to() -> None:
    app = AppTest.from_string(SCRIPT).run()
    app.selectbox(key="list").set_value("a")
    app.number_input(key="number").set_value(3.0)
    app.run()
    assert (app.selectbox(key="list").value, app.number_input(key="number").value) == ("a", 3.0)


def test_the_browser_reads_no_list_of_pages_where_a_run_begins() -> None:
    """`pages/shell/lighter.py` leaves it out of `new_session`: no code of this Streamlit in browsers may ask for it."""
    served = Path(streamlit.__file__).parent / "static" / "static" / "js"
    (begins,) = [
        part.partition("}handleNavigation(")[0]
        for file in served.glob("index.*.js")
        for part in file.read_text(encoding="utf-8").split("handleNewSession(")[1:]
        if "}handleNavigation(" in part
    ]
    assert "mainScriptHash" in begins and "appPages" not in begins
