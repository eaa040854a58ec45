"""Keep clicks that Streamlit loses when another rerun is requested at the same moment.

Without this fix (Streamlit 1.67; related: streamlit#8365): each request for a full run stops the run before it. A click
that was still waiting for its run is dropped, and a click whose callback is running is cut off in the middle. A link
that is clicked beside an open popover sends two requests: its page, then the popover's closing on the page before.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType, _coalesce_widget_states
from streamlit.runtime.state.safe_session_state import SafeSessionState

from pages.streamlit_fixes.installation import FunctionReplacement, apply

CLICK_TIMEOUT_S = 10.0  # a browser on a slow line has the next page long before
SAME_CLICK_S = 0.2  # between two requests of one click: they come within 20 ms; a person is slower
MAX_WAITING_RUNS = 8  # of one session: each waiting run is a thread
_ON_RERUN = "self fresh_widget_states replay_trigger_states replay_trigger_values is_history_navigation"
_request_rerun = AppSession.request_rerun
_on_rerun = SafeSessionState.on_script_will_rerun
_check_requests = ScriptRunner._maybe_handle_execution_control_request
_queue_lock = threading.Lock()
# By session (its pages manager): the runs that serve their clicks or wait to do so. Each event is set afterwards.
_queues: WeakKeyDictionary[PagesManager, list[threading.Event]] = WeakKeyDictionary()
# By session: its page, the page before, the query of the change between them, and its time.
_page_changes: WeakKeyDictionary[AppSession, tuple[str, str, str, float]] = WeakKeyDictionary()
_thread = threading.local()  # runs_callbacks: True while callbacks run in this thread


def install() -> None:
    """Merge pending clicks into the next request, and let callbacks finish one after the other."""
    apply(FunctionReplacement(AppSession, "request_rerun", "self client_state", _request_with_clicks))
    apply(
        FunctionReplacement(SafeSessionState, "on_script_will_rerun", _ON_RERUN, _finish_callbacks),
        FunctionReplacement(
            ScriptRunner, "_maybe_handle_execution_control_request", "self", _check_after_callbacks
        ),
    )


def _request_with_clicks(session: AppSession, client_state: ClientState | None) -> None:
    """Request a rerun that also serves the clicks of a request which has not begun."""
    runner = session._scriptrunner
    if client_state is not None and not client_state.fragment_id:
        client_state = _keep_page_change(session, client_state)
    if runner is not None and client_state is not None and not client_state.fragment_id:
        requests = runner._requests
        with requests._lock:  # the pending run either has begun, or never will
            pending = requests._rerun_data if requests._state == ScriptRequestType.RERUN else None
            if pending is not None:
                requests._state = ScriptRequestType.STOP
        if (
            pending is not None
            and pending.is_history_navigation
            and pending.query_string == client_state.query_string
        ):
            client_state = _copy(client_state)
            client_state.is_history_navigation = True
        states = None if pending is None else pending.widget_states
        merged = _coalesce_widget_states(states, client_state.widget_states)
        if states is not None and merged is not None:
            client_state = _copy(client_state)
            client_state.widget_states.CopyFrom(merged)
    _request_rerun(session, client_state)


def _keep_page_change(session: AppSession, client_state: ClientState) -> ClientState:
    """Return the request, with the page of the link whose click has sent it as a second one."""
    page, left, query, changed_at = _page_changes.get(session, ("", "", "", 0.0))
    requested, time_s = client_state.page_script_hash, time.monotonic()
    if (
        requested
        and requested == left
        and client_state.query_string == query
        and time_s - changed_at < SAME_CLICK_S
    ):
        client_state = _copy(client_state)
        client_state.page_script_hash = page
        return client_state
    if requested != page:
        _page_changes[session] = (requested, page, client_state.query_string, time_s)
    return client_state


def _finish_callbacks(values: SafeSessionState, *args: Any, **kwargs: Any) -> None:
    """Run the callbacks of a request to their end; the session's next run waits for them."""
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    with nullcontext(True) if context is None else _wait_for_turn(context.pages_manager) as is_queued:
        _thread.runs_callbacks = is_queued
        try:
            _on_rerun(values, *args, **kwargs)
        finally:
            _thread.runs_callbacks = False


@contextmanager
def _wait_for_turn(session: PagesManager) -> Iterator[bool]:
    """Wait for the callbacks of the session's earlier requests; yield False at once if too many wait already."""
    finished = threading.Event()
    with _queue_lock:
        queue = _queues.setdefault(session, [])
        has_room = len(queue) < MAX_WAITING_RUNS
        previous = queue[-1] if queue and has_room else None
        if has_room:
            queue.append(finished)
    try:
        timed_out = previous is not None and not previous.wait(CLICK_TIMEOUT_S)
        yield has_room
    finally:
        finished.set()
        with _queue_lock:
            queue[:] = [
                event for event in queue if event is not finished and not (timed_out and event is previous)
            ]


def _check_after_callbacks(runner: ScriptRunner) -> None:
    """Look for a request that stops this run, unless its callbacks are running.

    Streamlit calls this some two hundred times a page, at each message and each access to the session.
    """
    if runner._requests._state != ScriptRequestType.CONTINUE and not getattr(
        _thread, "runs_callbacks", False
    ):
        _check_requests(runner)


def _copy(client_state: ClientState) -> ClientState:
    copy = ClientState()
    copy.CopyFrom(client_state)
    return copy
