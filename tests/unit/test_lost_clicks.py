"""Clicks while another rerun is requested: each is served once, to its end, in order."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.testing.v1 import AppTest

from pages.streamlit_fixes.optional import lost_clicks


def asking(**clicked: bool) -> ClientState:
    """What a browser sends with a request for a run: the buttons that were clicked since the last one."""
    state = ClientState()
    for name in clicked:
        state.widget_states.widgets.add(id=name, trigger_value=True)
    state.widget_states.widgets.add(id="a slider", int_value=len(clicked))
    return state


class Runner:
    """A run of the script that was asked for and has not begun, unless it is told to."""

    def __init__(self, asked: ClientState) -> None:
        self._requests = ScriptRequests()
        self._requests.request_rerun(RerunData(widget_states=asked.widget_states))

    def request_stop(self) -> None:
        self._requests.request_stop()


class Session(AppSession):
    """As much of a session as a request for a run needs."""

    def __init__(self, runner: Runner) -> None:
        self._state = AppSessionState.APP_NOT_RUNNING
        self._scriptrunner = runner  # type: ignore[assignment]
        self.asked: list[RerunData] = []

    def _create_scriptrunner(self, initial_rerun_data: RerunData) -> None:
        self.asked.append(initial_rerun_data)

    def __del__(self) -> None:
        """Nothing was opened."""


@pytest.mark.parametrize("begun", [False, True])
def test_a_click_that_waits_for_its_run_is_served_by_the_next(begun: bool) -> None:
    """'Start training' did nothing when a view asked for a run before the click's had begun."""
    lost_clicks.install()
    runner = Runner(asking(start=True))
    session = Session(runner)
    if begun:
        assert runner._requests.on_scriptrunner_ready().type == ScriptRequestType.RERUN
    session.request_rerun(asking())  # by a view that wants something sent again
    (data,) = session.asked
    assert data.widget_states is not None
    found = {widget.id: widget.WhichOneof("value") for widget in data.widget_states.widgets}
    assert found == ({} if begun else {"start": "trigger_value"}) | {"a slider": "int_value"}
    (slider,) = [widget for widget in data.widget_states.widgets if widget.id == "a slider"]
    assert slider.int_value == 0  # what is newer counts
    assert (
        runner._requests.on_scriptrunner_ready().type == ScriptRequestType.STOP
    )  # and the click is not served twice


@pytest.mark.parametrize("query", ["study=sizes", "study="])
def test_back_stays_back_when_a_view_requests_the_same_address_again(query: str) -> None:
    """The run of Back had not begun when a view wanted another; without the flag, its address counts as a late one."""
    lost_clicks.install()
    runner = Runner(asking())
    runner._requests.request_rerun(RerunData(query_string="study=sizes", is_history_navigation=True))
    session = Session(runner)
    session.request_rerun(ClientState(query_string=query))
    assert [data.is_history_navigation for data in session.asked] == [query == "study=sizes"]


@pytest.mark.parametrize("same_click", [True, False])
def test_a_link_beside_an_open_popover_opens_its_page(
    same_click: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """'Next' beside open options led to the next stop's words on the stop's page before."""
    lost_clicks.install()
    monkeypatch.setattr(lost_clicks, "SAME_CLICK_S", 60.0 if same_click else 0.0)
    session = Session(Runner(asking()))
    for page, query in (("distance", "stop=13"), ("layers", "stop=14"), ("distance", "stop=14")):
        session.request_rerun(ClientState(page_script_hash=page, query_string=query))
    session.request_rerun(ClientState(page_script_hash="distance", query_string="stop=13"))  # the link back
    last = "layers" if same_click else "distance"
    assert [data.page_script_hash for data in session.asked] == ["distance", "layers", last, "distance"]
    assert session.asked[2].query_string == "stop=14"


CLICKED = """
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

def clicked():
    get_script_run_ctx().script_requests.request_stop()  # a view asks for another run at this moment
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1

st.button("Start", on_click=clicked)
st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
"""


def test_a_click_that_has_begun_is_served_to_its_end() -> None:
    """A run ends for the next one at its next look at the session: within a callback, too, and the click was lost."""
    lost_clicks.install()
    app = AppTest.from_string(CLICKED).run()
    app.button[0].click().run()
    assert not app.exception
    assert (app.session_state["runs"], app.session_state["drawn"]) == (
        1,
        1,
    )  # and its run ended before the page


def test_a_run_of_which_nothing_is_asked_looks_for_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks two hundred times."""
    lost_clicks.install()
    looked: list[object] = []
    monkeypatch.setattr(lost_clicks, "_check_requests", looked.append)
    app = AppTest.from_string(CLICKED).run()
    assert app.session_state["drawn"] == 1 and not looked
    app.button[0].click().run()
    assert looked


BROKEN = """
import streamlit as st

def clicked():
    raise ValueError("in a callback")

st.button("Break", on_click=clicked)
st.button("Start", on_click=lambda: st.session_state.update(runs=1))
"""


def test_a_callback_that_fails_holds_up_nobody() -> None:
    lost_clicks.install()
    app = AppTest.from_string(BROKEN).run()
    assert app.button[0].click().run().exception
    app.run().button[1].click().run()
    assert not app.exception and app.session_state["runs"] == 1
    assert not lost_clicks._thread.__dict__.get("runs_callbacks")


class Pages:
    """A session's pages manager, which names it."""


class Line:
    """Runs of one session, each in a thread that takes its request's values once it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        context = SimpleNamespace(pages_manager=Pages())
        monkeypatch.setattr(script_run_context, "get_script_run_ctx", lambda **_: context)
        monkeypatch.setattr(lost_clicks, "_on_rerun", self.take)
        self.taken: list[tuple[str, bool]] = []  # (name, whether its clicks are served to their end)
        self.threads: list[threading.Thread] = []
        self.end = threading.Event()  # of the callback called 'slow'

    def take(self, name: str) -> None:
        self.taken.append((name, lost_clicks._thread.runs_callbacks))
        if name == "slow":
            self.end.wait(60)

    def ask(self, name: str) -> threading.Thread:
        """A request; returns once it has its values, stands in the line, or is through."""
        before = len(self.taken), self.standing()
        thread = threading.Thread(target=lost_clicks._finish_callbacks, args=(name,))
        self.threads.append(thread)
        thread.start()
        while (len(self.taken), self.standing()) == before and thread.is_alive():
            thread.join(0.001)
        return thread

    def standing(self) -> int:
        return sum(map(len, lost_clicks._queues.values()))

    def join(self) -> None:
        self.end.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def test_clicks_are_served_in_the_order_of_their_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or an earlier request's values would be put over a later one's."""
    line = Line(monkeypatch)
    names = ["slow", *"abcde"]
    for name in names:
        line.ask(name)
    assert line.taken == [("slow", True)]
    line.join()
    assert line.taken == [(name, True) for name in names] and not line.standing()


def test_a_callback_without_end_is_waited_for_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_clicks, "CLICK_TIMEOUT_S", 0.05)
    line = Line(monkeypatch)
    line.ask("slow")
    line.ask("a").join(60)
    monkeypatch.setattr(lost_clicks, "CLICK_TIMEOUT_S", 60.0)
    line.ask("b").join(60)  # does not wait for it again
    assert [name for name, _ in line.taken] == ["slow", "a", "b"]
    line.join()


def test_a_flood_of_requests_is_no_flood_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch)
    line.ask("slow")
    for i in range(50):
        line.ask(str(i))
    for thread in line.threads[lost_clicks.MAX_WAITING_RUNS :]:
        thread.join(60)  # it has its values, and may still be about to end
    waiting = [thread for thread in line.threads if thread.is_alive()]
    assert len(waiting) == lost_clicks.MAX_WAITING_RUNS
    assert line.taken[1:] == [
        (str(i), False) for i in range(lost_clicks.MAX_WAITING_RUNS - 1, 50)
    ]  # as Streamlit has it
    line.join()
