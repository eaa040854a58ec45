"""What Streamlit lets any visitor do to all others, taken back; and clicks that it forgets while a visitor waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequestType,
    _coalesce_widget_states,
)
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.streamlit_fixes import caching
from pages.streamlit_fixes.replacement import Change, make

SESSION_BYTES = 256 * 2**20  # two of the largest uploads; a page takes a file at once and drops it here
SESSION_FILES = 16
ALL_BYTES = 1024 * 2**20
KEPT_S = 300.0  # a file that no page has taken by then was asked for by no page
MOST_HELD = 300
MOST_SMALL = (
    150  # of fewer bytes than LARGE: style sheets and lists come first; captions must not crowd out views
)
LARGE = 4000
CLICK_S = 10.0  # a browser on a slow line has the page's next run long before
TAKEN = "self fresh_widget_states replay_trigger_states replay_trigger_values is_history_navigation"
MOST_IN_LINE = 8  # runs of one session that wait for a click's end; one more goes on as Streamlit has it
_request_rerun = AppSession.request_rerun
_add_file = MemoryUploadedFileManager.add_file
_take_values = SafeSessionState.on_script_will_rerun
_run_script = ScriptRunner._run_script
_look_for_requests = ScriptRunner._maybe_handle_execution_control_request
_SWEEPER = "_vitviz_sweeper"  # an upload manager's timer, while it holds files
_sweeping = threading.Lock()
_standing = threading.Lock()
_lines: WeakKeyDictionary[PagesManager, list[threading.Event]] = (
    WeakKeyDictionary()
)  # one a session, as its pages' manager: the runs that serve their clicks or wait for it, each until it is set
_here = threading.local()  # serves: whether callbacks run in this thread


def install() -> None:
    """Ignores the message that empties every cache of the server, and bounds what is uploaded.

    Any websocket may send `clear_cache`; Streamlit then drops `cache_data` and `cache_resource` for all visits, who
    would wait for every model again. Its menu entry is hidden already (`client.toolbarMode`). And whoever has a
    session may upload files that no widget asked for, which stay as long as the session does.

    Each request for a full run stops the run before it, with what that one had yet to begin with: a click that was
    waiting for its run was lost when a view asked for another at that moment. It is served by the other now.

    And the run before it may have begun: it then ends at its next look at the session, also within the callback of a
    click, which did half of its work or nothing. Callbacks are brought to their end now, one after the other, each
    request's after those of the one before it. One that takes longer than `CLICK_S` is waited for no longer, and
    `MOST_IN_LINE` requests wait at most: each is a thread.

    A poll may be under way while its page is left, and waits for the next page's run: it said the page before to the
    browser, which dropped all that the new one had drawn. It runs on the page that stands there now.

    A browser holds what is large, so that it is sent once, and says with every request what it holds, by 34 bytes each.
    So it holds 300 such messages at most, of small ones 150, and nothing that a poll brings, which is new each time.
    """
    make(Change(AppSession, "_handle_clear_cache_request", "self", _ignored))
    make(
        Change(MemoryUploadedFileManager, "add_file", "self session_id file", _bounded),
        Change(MemoryUploadedFileManager, "remove_file", "self session_id file_id"),
    )
    make(Change(AppSession, "request_rerun", "self client_state", _keeping_clicks))
    make(Change(script_run_context, "populate_hash_if_needed", "msg", _hold_no_poll))
    make(
        Change(SafeSessionState, "on_script_will_rerun", TAKEN, _to_the_end),
        Change(ScriptRunner, "_maybe_handle_execution_control_request", "self", _after_callbacks),
    )
    make(
        Change(ScriptRunner, "_run_script", "self rerun_data", _where_it_is),
        Change(PagesManager, "current_page_script_hash", ""),
    )


def _ignored(session: AppSession) -> None:
    """Nothing: a cache belongs to all visits."""


def _bounded(manager: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
    """Keeps a file for `KEPT_S`, where its session and the server have room for it.

    Raises:
        HTTPException: 413 where they have not.
    """
    storage: dict[str, dict[str, Any]] = manager.file_storage
    mine = storage.get(session_id, {})
    here = sum(len(other.data) for other in list(mine.values()))
    everywhere = sum(len(other.data) for files in list(storage.values()) for other in list(files.values()))
    size = len(file.data)
    if len(mine) >= SESSION_FILES or here + size > SESSION_BYTES or everywhere + size > ALL_BYTES:
        raise HTTPException(413, "Too much is being uploaded at once; try again in a few minutes")
    _add_file(manager, session_id, file)
    with _sweeping:
        _arrived(manager)[session_id, file.file_id] = time.monotonic()
        if _SWEEPER not in manager.__dict__:
            _sweep_in(KEPT_S, manager)


def _arrived(manager: MemoryUploadedFileManager) -> dict[tuple[str, str], float]:
    """When each file came that is still there; `_sweeping` is held."""
    storage: dict[str, dict[str, Any]] = manager.file_storage
    found: dict[tuple[str, str], float] = manager.__dict__.setdefault("_vitviz_arrived", {})
    for session_id, file_id in [*found]:
        if file_id not in storage.get(session_id, {}):
            del found[session_id, file_id]
    return found


def _sweep_in(seconds: float, manager: MemoryUploadedFileManager) -> None:
    manager.__dict__[_SWEEPER] = timer = threading.Timer(seconds, _sweep, (manager,))
    timer.daemon = True
    timer.start()


def _sweep(manager: MemoryUploadedFileManager) -> None:
    """Drops the files whose time is over, and comes again while there are others: one thread for all of them."""
    with _sweeping:
        now = time.monotonic()
        for (session_id, file_id), came in [*_arrived(manager).items()]:
            if now - came >= KEPT_S:
                manager.remove_file(session_id, file_id)
        left = _arrived(manager)
        if left:
            _sweep_in(min(left.values()) + KEPT_S - now, manager)
        else:
            del manager.__dict__[_SWEEPER]


def _keeping_clicks(session: AppSession, client_state: ClientState | None) -> None:
    """Asks for a run, in which the clicks are served that the run before it had not begun with."""
    runner = session._scriptrunner
    if runner is not None and client_state is not None and not client_state.fragment_id:
        requests = runner._requests
        with requests._lock:  # it either has begun with them, or never will
            waiting = requests._rerun_data if requests._state == ScriptRequestType.RERUN else None
            if waiting is not None:
                requests._state = ScriptRequestType.STOP
        states = None if waiting is None else waiting.widget_states
        kept = _coalesce_widget_states(states, client_state.widget_states)
        if states is not None and kept is not None:
            client_state = _with_states(client_state, kept)
    _request_rerun(session, client_state)


def _to_the_end(values: SafeSessionState, *given: Any, **named: Any) -> None:
    """Takes a request's values, and serves its clicks; the session's next run waits for that."""
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    with nullcontext(True) if context is None else _in_line(context.pages_manager) as mine:
        _here.serves = mine
        try:
            _take_values(values, *given, **named)
        finally:
            _here.serves = False


@contextmanager
def _in_line(session: PagesManager) -> Iterator[bool]:
    """Waits for the clicks of the session's earlier requests; False, at once, where too many wait already."""
    served = threading.Event()
    with _standing:
        line = _lines.setdefault(session, [])
        room = len(line) < MOST_IN_LINE
        before = line[-1] if line and room else None
        if room:
            line.append(served)
    try:
        given_up = before is not None and not before.wait(CLICK_S)
        yield room
    finally:
        served.set()
        with _standing:
            line[:] = [one for one in line if one is not served and not (given_up and one is before)]


def _after_callbacks(runner: ScriptRunner) -> None:
    """Ends a run for the next one, or goes on with it; asked again once the callbacks are through.

    A page's run is asked this two hundred times, at each message and look at the session: most have no request.
    """
    if runner._requests._state != ScriptRequestType.CONTINUE and not getattr(_here, "serves", False):
        _look_for_requests(runner)


def _where_it_is(runner: ScriptRunner, data: RerunData) -> None:
    """Runs the script: a page, or a fragment of the page that the session is at by now."""
    here = runner._pages_manager.current_page_script_hash
    if data.fragment_id_queue and here and data.page_script_hash != here:
        address = urlencode(runner._session_state._state.query_params.to_dict())
        data = replace(data, page_script_hash=here, query_string=address)
    _run_script(runner, data)


def _with_states(client_state: ClientState, states: WidgetStates) -> ClientState:
    changed = ClientState()
    changed.CopyFrom(client_state)
    changed.widget_states.CopyFrom(states)
    return changed


def _hold_no_poll(msg: ForwardMsg) -> None:
    """Marks a message as one to hold where it is large, a page's and not one too many; else only what is held."""
    caching.mark(msg)
    if not msg.metadata.cacheable:  # nine of ten
        return
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    if context is None or msg.hash in context.cached_message_hashes:
        return
    held = len(context.cached_message_hashes)
    if context.fragment_ids_this_run or held >= MOST_HELD or (held >= MOST_SMALL and msg.ByteSize() < LARGE):
        msg.metadata.cacheable = False
