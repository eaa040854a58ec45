"""What any visitor could do to all others through Streamlit itself, and no longer can."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from starlette.exceptions import HTTPException
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest

from pages.streamlit_fixes import caching, guards


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryUploadedFileManager]:
    guards.install()
    guards.install()  # every run of the app does
    before = threading.active_count()
    yield MemoryUploadedFileManager("upload")
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.cancel()
            timer.join()
    assert threading.active_count() <= before


def put(uploads: MemoryUploadedFileManager, session: str, name: str, size: int) -> None:
    uploads.add_file(session, UploadedFileRec(name, name, "image/png", bytes(size)))


def test_the_message_that_empties_every_cache_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.runtime import caching

    guards.install()
    emptied: list[str] = []
    monkeypatch.setattr(caching.cache_resource, "clear", lambda: emptied.append("resource"))
    monkeypatch.setattr(caching.cache_data, "clear", lambda: emptied.append("data"))
    AppSession._handle_clear_cache_request(None)  # type: ignore[arg-type]
    assert emptied == []


def test_a_session_cannot_heap_up_files_that_no_widget_asked_for(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifteen files of 128 MB stayed for ever: 1.9 GB."""
    monkeypatch.setattr(guards, "SESSION_BYTES", 1000)
    put(uploads, "a", "1", 600)
    with pytest.raises(HTTPException, match="Too much") as refused:
        put(uploads, "a", "2", 600)
    assert refused.value.status_code == 413
    put(uploads, "b", "2", 600)  # others are not hindered
    uploads.remove_file("a", "1")  # as a page does that takes it
    put(uploads, "a", "2", 600)
    assert {name: [*files] for name, files in uploads.file_storage.items()} == {"a": ["2"], "b": ["2"]}


def test_the_number_of_files_and_the_bytes_of_all_sessions_are_bounded(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(guards.SESSION_FILES):
        put(uploads, "a", str(i), 0)
    with pytest.raises(HTTPException):
        put(uploads, "a", "one more", 0)
    monkeypatch.setattr(guards, "ALL_BYTES", 1000)
    put(uploads, "b", "1", 600)
    with pytest.raises(HTTPException):
        put(uploads, "c", "1", 600)


def test_a_file_that_no_page_takes_goes_by_itself(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "KEPT_S", 0.05)
    put(uploads, "a", "1", 600)
    assert [file.file_id for file in uploads.get_files("a", ["1"])] == ["1"]
    for timer in [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]:
        timer.join(timeout=30)
    assert uploads.get_files("a", ["1"]) == []


def test_files_that_come_and_go_leave_no_threads(uploads: MemoryUploadedFileManager) -> None:
    """Each file had a timer of its own: 10,000 times the same empty one was 10,000 threads for five minutes."""
    before = threading.active_count()
    for i in range(200):
        put(uploads, "a", "again", 0)
        put(uploads, "a", str(i), 0)
        uploads.remove_file("a", str(i))
    assert threading.active_count() <= before + 1


def test_a_file_has_its_own_time(uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(guards, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    asked: list[float] = []
    monkeypatch.setattr(
        guards, "_sweep_in", lambda s, _: asked.append(s) or uploads.__dict__.update(sweeper=1)
    )
    monkeypatch.setattr(guards, "_SWEEPER", "sweeper")
    put(uploads, "a", "first", 1)
    clock[0] = 100.0
    put(uploads, "b", "second", 1)
    clock[0] = guards.KEPT_S
    guards._sweep(uploads)
    assert {name: [*files] for name, files in uploads.file_storage.items()} == {"a": [], "b": ["second"]}
    clock[0] = guards.KEPT_S + 100.0
    guards._sweep(uploads)
    assert uploads.get_files("b", ["second"]) == []
    put(uploads, "c", "third", 1)  # the sweeper had gone, and comes again
    assert asked == [guards.KEPT_S, 100.0, guards.KEPT_S]


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
    """'Start a new run' did nothing when a view asked for a run before the click's had begun."""
    guards.install()
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
    guards.install()
    app = AppTest.from_string(CLICKED).run()
    app.button[0].click().run()
    assert not app.exception
    assert (app.session_state["runs"], app.session_state["drawn"]) == (
        1,
        1,
    )  # and its run ended before the page


def test_a_run_of_which_nothing_is_asked_looks_for_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page looks two hundred times."""
    guards.install()
    looked: list[object] = []
    monkeypatch.setattr(guards, "_look_for_requests", looked.append)
    app = AppTest.from_string(CLICKED).run()
    assert app.session_state["drawn"] == 1 and not looked
    app.button[0].click().run()
    assert looked


@pytest.mark.parametrize(
    ("alone", "asked", "here", "run"),
    [
        (["bar"], "old", "new", ("new", "pin=cls&class=K7Q")),
        (["bar"], "new", "new", ("new", "asked=1")),
        ([], "old", "new", ("old", "asked=1")),  # a page is gone to
        (["bar"], "old", "", ("old", "asked=1")),
    ],
)
def test_a_poll_of_a_page_that_was_left_runs_on_the_page_that_is_there(
    monkeypatch: pytest.MonkeyPatch, alone: list[str], asked: str, here: str, run: tuple[str, str]
) -> None:
    """The browser dropped what the new page had drawn: a learner saw nothing between the class's bar and the foot."""
    ran: list[RerunData] = []
    monkeypatch.setattr(guards, "_run_script", lambda _, data: ran.append(data))
    query = SimpleNamespace(to_dict=lambda: {"pin": "cls", "class": "K7Q"})
    session = SimpleNamespace(_state=SimpleNamespace(query_params=query))
    runner = SimpleNamespace(
        _pages_manager=SimpleNamespace(current_page_script_hash=here), _session_state=session
    )
    data = RerunData(query_string="asked=1", page_script_hash=asked, fragment_id_queue=alone)
    guards._where_it_is(runner, data)  # type: ignore[arg-type]
    assert [(one.page_script_hash, one.query_string) for one in ran] == [run]


BROKEN = """
import streamlit as st

def clicked():
    raise ValueError("in a callback")

st.button("Break", on_click=clicked)
st.button("Start", on_click=lambda: st.session_state.update(runs=1))
"""


def test_a_callback_that_fails_holds_up_nobody() -> None:
    guards.install()
    app = AppTest.from_string(BROKEN).run()
    assert app.button[0].click().run().exception
    app.run().button[1].click().run()
    assert not app.exception and app.session_state["runs"] == 1
    assert not guards._here.__dict__.get("serves")


class Pages:
    """A session's pages manager, which names it."""


class Line:
    """Runs of one session, each in a thread that takes its request's values once it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        context = SimpleNamespace(pages_manager=Pages())
        monkeypatch.setattr(script_run_context, "get_script_run_ctx", lambda **_: context)
        monkeypatch.setattr(guards, "_take_values", self.take)
        self.taken: list[tuple[str, bool]] = []  # (name, whether its clicks are served to their end)
        self.threads: list[threading.Thread] = []
        self.end = threading.Event()  # of the callback called 'slow'

    def take(self, name: str) -> None:
        self.taken.append((name, guards._here.serves))
        if name == "slow":
            self.end.wait(60)

    def ask(self, name: str) -> threading.Thread:
        """A request; returns once it has its values, stands in the line, or is through."""
        before = len(self.taken), self.standing()
        thread = threading.Thread(target=guards._to_the_end, args=(name,))
        self.threads.append(thread)
        thread.start()
        while (len(self.taken), self.standing()) == before and thread.is_alive():
            thread.join(0.001)
        return thread

    def standing(self) -> int:
        return sum(map(len, guards._lines.values()))

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
    monkeypatch.setattr(guards, "CLICK_S", 0.05)
    line = Line(monkeypatch)
    line.ask("slow")
    line.ask("a").join(60)
    monkeypatch.setattr(guards, "CLICK_S", 60.0)
    line.ask("b").join(60)  # does not wait for it again
    assert [name for name, _ in line.taken] == ["slow", "a", "b"]
    line.join()


def test_a_flood_of_requests_is_no_flood_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch)
    line.ask("slow")
    for i in range(50):
        line.ask(str(i))
    for thread in line.threads[guards.MOST_IN_LINE :]:
        thread.join(60)  # it has its values, and may still be about to end
    waiting = [thread for thread in line.threads if thread.is_alive()]
    assert len(waiting) == guards.MOST_IN_LINE
    assert line.taken[1:] == [
        (str(i), False) for i in range(guards.MOST_IN_LINE - 1, 50)
    ]  # as Streamlit has it
    line.join()


@pytest.mark.parametrize(
    ("size", "alone", "held", "others", "cacheable"),
    [
        (100_000, [], False, 299, True),
        (100_000, ["f"], False, 0, False),
        (100_000, ["f"], True, 0, True),
        (100_000, [], False, 300, False),
        (100_000, [], True, 300, True),
        (2000, [], False, 149, True),
        (2000, [], False, 150, False),
        (2000, [], True, 150, True),
        (500, [], False, 0, False),
    ],
)
def test_a_browser_holds_what_pages_show_up_to_a_bound_and_not_what_polls_bring(
    monkeypatch: pytest.MonkeyPatch, size: int, alone: list[str], held: bool, others: int, cacheable: bool
) -> None:
    guards.install()
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * size
    twin = ForwardMsg()
    twin.CopyFrom(message)
    caching.mark(twin)
    known = {twin.hash} if held else set()
    context = SimpleNamespace(
        fragment_ids_this_run=alone, cached_message_hashes=frozenset(known | {str(i) for i in range(others)})
    )
    monkeypatch.setattr(script_run_context, "get_script_run_ctx", lambda **_: context)
    script_run_context.populate_hash_if_needed(message)  # type: ignore[attr-defined]
    assert message.metadata.cacheable == cacheable
