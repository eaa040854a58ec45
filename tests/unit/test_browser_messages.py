"""Messages that come in bundles come all, in order; those of a changed section alone wait for a run's end."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner.script_runner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.signal_util import Signal

from pages.streamlit_fixes.optional import browser_messages

DRAWN, ENDED = ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS


class Session(AppSession):
    """As much of a session as its messages pass through."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._event_loop, self._browser_queue = loop, ForwardMsgQueue()
        self._scriptrunner = "runner"  # type: ignore[assignment]
        self.id = "session"
        self.woken, self.sent, self.news = 0, 0, asyncio.Event()
        self._message_enqueued_callback = self._ask

    def _ask(self) -> None:
        self.sent += 1
        self.news.set()

    def _call_soon_on_event_loop(self, callback: Any) -> None:
        self.woken += 1
        super()._call_soon_on_event_loop(callback)

    def wait(self, something: Coroutine[Any, Any, object]) -> None:
        """Lets its loop go until then, in another thread: in this one a browser of other tests may have one going."""
        thread = threading.Thread(target=self._event_loop.run_until_complete, args=(something,))
        thread.start()
        thread.join(timeout=30)
        assert not thread.is_alive()

    def draw(self, number: int, runner: str = "runner") -> None:
        message = ForwardMsg()
        message.delta.new_element.markdown.body = str(number)
        message.metadata.delta_path[:] = [0, number]
        self.tell(DRAWN, runner, forward_msg=message)

    def tell(self, event: ScriptRunnerEvent, runner: str = "runner", **returned: Any) -> None:
        self._on_scriptrunner_event(runner, event=event, **returned)  # type: ignore[arg-type]

    @property
    def queued(self) -> list[str]:
        return [
            message.delta.new_element.markdown.body or str(message.WhichOneof("type"))
            for message in self._browser_queue._queue
        ]

    def __del__(self) -> None:
        """Nothing was opened."""


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(AppSession, "_on_scriptrunner_event", AppSession._on_scriptrunner_event)
    browser_messages.install()
    browser_messages.install()  # every run of the app does

    def handled(session: Session, sender: ScriptRunner, event: ScriptRunnerEvent) -> None:
        if event == ScriptRunnerEvent.SHUTDOWN:
            raise OSError
        message = ForwardMsg()
        message.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
        session._browser_queue.enqueue(message)

    monkeypatch.setattr(browser_messages, "_handle_event", handled)
    loop = asyncio.new_event_loop()
    yield Session(loop)
    loop.close()


def test_what_a_run_draws_and_its_end_come_in_order_and_wake_the_server_twice(session: Session) -> None:
    for number in range(50):
        session.draw(number)
    session.tell(ENDED)
    session.wait(session.news.wait())
    assert session.queued == [*map(str, range(50)), "script_finished"]
    assert (session.woken, session.sent) == (2, 1)


def test_what_is_drawn_does_not_wait_for_the_end_of_a_run(session: Session) -> None:
    session.draw(1)
    session.wait(asyncio.wait_for(session.news.wait(), 60))
    session.draw(2)  # the next bundle
    session.news.clear()
    session.wait(asyncio.wait_for(session.news.wait(), 60))
    assert session.queued == ["1", "2"]


@pytest.mark.parametrize("is_overdue", [False, True])
def test_another_section_is_sent_at_the_end_of_its_run_or_once_it_is_overdue(
    session: Session, monkeypatch: pytest.MonkeyPatch, is_overdue: bool
) -> None:
    """Sent piece by piece, the images of two sections stand among each other and jump."""
    context = SimpleNamespace(session_id="session")
    monkeypatch.setattr(script_run_context, "get_script_run_ctx", lambda **_: context)
    monkeypatch.setattr(browser_messages, "PICTURE_S", 0.02 if is_overdue else 3600)
    browser_messages.hold_drawing()
    session.draw(1)
    message = ForwardMsg()
    message.page_info_changed.query_string = "view=b"
    session.tell(DRAWN, forward_msg=message)
    if is_overdue:
        session.wait(session.news.wait())
        assert session.queued == ["1", "page_info_changed"]
        session.news.clear()
    else:
        session.wait(asyncio.sleep(0))
        assert session.queued == []
    session.draw(2)
    session.tell(ENDED)
    session.wait(session.news.wait())
    assert session.queued == ["1", "page_info_changed", "2", "script_finished"]


def test_an_address_leaves_at_once_and_after_what_was_drawn_before_it(session: Session) -> None:
    """`st.switch_page` gives it 10 ms, then the next run throws away what has not left."""
    session.draw(1)
    message = ForwardMsg()
    message.page_info_changed.query_string = "model=a"
    session.tell(DRAWN, forward_msg=message)
    session.wait(asyncio.sleep(0))
    assert session.queued == ["1", "page_info_changed"]


def test_a_run_that_was_replaced_draws_no_more_and_an_error_takes_nothing_with_it(session: Session) -> None:
    session.draw(1, "an older runner")
    session.tell(ScriptRunnerEvent.SHUTDOWN)
    session.draw(2)
    session.tell(ENDED)
    session.wait(session.news.wait())
    assert session.queued == ["2", "script_finished"]


def test_a_run_that_has_ended_is_sent_though_a_fragments_runner_takes_its_place(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on a busy server: what the page had drawn was lost, and its browser went blank."""

    def create(session: AppSession, _: RerunData) -> None:
        session._scriptrunner = "the fragment's"  # type: ignore[assignment]

    monkeypatch.setattr(browser_messages, "_create_runner", create)
    session.draw(1)
    session.tell(ENDED)
    session._create_scriptrunner(RerunData(fragment_id_queue=["view"]))
    assert session.queued == ["1", "script_finished"]
    session.draw(2, "the fragment's")
    session._scriptrunner = None  # a full run draws all of it anew
    session._create_scriptrunner(RerunData())
    session._scriptrunner = "the page's"  # type: ignore[assignment]
    session.wait(asyncio.sleep(0.01))
    assert session.queued == ["1", "script_finished"]


def test_a_fragments_run_follows_what_waits_and_a_full_run_takes_its_place(session: Session) -> None:
    """Of a view's run that waits and its drawers Streamlit keeps the drawers, whose place the browser then lacks."""
    queue = session._browser_queue

    def add(fragment: str, *path: int) -> None:
        message = ForwardMsg()
        message.metadata.delta_path[:] = path
        if fragment == "held":
            message.ref_hash = "picture"
        else:
            message.delta.add_block.allow_empty = True
            message.delta.fragment_id = fragment
        queue.enqueue(message)

    view = [("view", 0, 4), ("view", 0, 4, 0), ("held", 0, 4, 1), ("view.drawer", 0, 4, 2), ("", 0, 5)]
    for fragment, *path in view:
        add(fragment, *path)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["view"])
    for fragment, *path in view[:3]:
        add(fragment, *path)
    paths = [tuple(message.metadata.delta_path) for message in queue._queue]
    assert paths == [tuple(path) for _, *path in view + view[:3]]
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.is_empty()


def test_a_browser_that_comes_back_is_not_sent_the_rest_of_a_run(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was on its way when the network dropped is lost, and the rest has no place without it."""
    manager: Any = WebsocketSessionManager.__new__(WebsocketSessionManager)
    manager._active_session_info_by_id = {"one": SimpleNamespace(session=session)}
    session.draw(1)
    session.wait(session.news.wait())
    for resumed, left in ((None, ["1"]), ("one", [])):
        monkeypatch.setattr(browser_messages, "_resume", lambda *_, resumed=resumed: resumed)
        assert manager._resume_stored_session("one", "client", {}) == resumed and session.queued == left


def test_a_run_that_has_begun_goes_on_telling_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run of a server installs it; its runner holds what it tells weakly."""
    plain, reported = browser_messages._send_event, []
    monkeypatch.setattr(AppSession, "_on_scriptrunner_event", plain)
    session = Session(loop := asyncio.new_event_loop())
    signal = Signal()
    signal.connect(session._on_scriptrunner_event)
    del plain
    browser_messages.install()
    gc.collect()
    monkeypatch.setattr(session, "_call_soon_on_event_loop", reported.append)
    signal.send("runner", event=ENDED)
    loop.close()
    assert len(reported) == 1


def test_another_streamlit_goes_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AppSession, "_on_scriptrunner_event", browser_messages._send_event)
    monkeypatch.delattr(AppSession, "_call_soon_on_event_loop")
    browser_messages.install()
    assert vars(AppSession)["_on_scriptrunner_event"] is browser_messages._send_event
