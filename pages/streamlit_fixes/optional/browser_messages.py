"""Send the messages of a run in batches and without gaps, hash them quickly, and bound how many a browser keeps.

Without this fix (Streamlit 1.67, no upstream issue found): each of a page's hundred messages wakes the event loop
twice, and the two threads exchange the interpreter lock each time, which takes half of a run's time. Hashing takes four
times as long, and a browser reports each message that it keeps (34 bytes) with every request, however many there are.
A fragment's run that begins before the run before it was sent drops some of what that one drew, and a browser that
reconnects is sent the rest of a run whose beginning was lost: it ends with 'Bad delta path index', and the page is
blank until it is reloaded. A section that replaces another is drawn piece by piece between what is left of it, so that
pictures jump down and up again.
"""

import asyncio
import logging
import threading
import time
from base64 import urlsafe_b64encode
from functools import partial
from hashlib import blake2b
from typing import Any

from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import forward_msg_cache
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner.script_runner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from pages.streamlit_fixes.installation import FunctionReplacement, apply

HOLD_S = 0.003  # st.switch_page gives a message 10 ms to leave
PICTURE_S = 0.7  # for which a run's drawing may be held, so that it replaces another section's at once
_held_until: dict[str, float] = {}  # by session
_BATCH = "_vitviz_batch"  # attribute of a session
_DELAYABLE = ("delta", "ref_hash")  # drawn elements; other messages are sent at once
# The run that installs this fix still uses the original functions: keep them alive, or its messages are lost.
_send_event = AppSession._on_scriptrunner_event
_handle_event = AppSession._handle_scriptrunner_event_on_event_loop
_create_runner = AppSession._create_scriptrunner
_clear = ForwardMsgQueue.clear
_resume = WebsocketSessionManager._resume_stored_session
_ON_RESUME = "self existing_session_id client user_info"
PARAMETERS = (
    "self sender event forward_msg exception client_state page_script_hash fragment_ids_this_run pages"
    " run_descriptor"
)
MAX_MESSAGES = 300
MAX_SMALL_MESSAGES = 150  # style sheets and lists come first; captions must not crowd out views
LARGE_BYTES = 4000
_HASH_BYTES = 9  # 10^21 values: no two elements of a page share one
_SMALLEST_BYTES = 1000  # below it the setting is not looked up
_populate_hash = forward_msg_cache.populate_hash_if_needed
ScriptEvent = tuple[ScriptRunner | None, ScriptRunnerEvent, dict[str, Any]]


class _Batch:
    """The ordered events of a session's runs that the event loop has not handled yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[ScriptEvent] = []

    def add(self, event: ScriptEvent) -> bool:
        """Append an event; return True if it is the first, so that somebody must schedule a flush."""
        with self._lock:
            self._events.append(event)
            return len(self._events) == 1

    def take(self) -> list[ScriptEvent]:
        with self._lock:
            events, self._events = self._events, []
        return events


def install() -> None:
    """Replace the functions that hand one event to the event loop, and that hash a message."""
    apply(FunctionReplacement(script_run_context, "populate_hash_if_needed", "msg", _mark_message))
    apply(
        FunctionReplacement(AppSession, "_on_scriptrunner_event", PARAMETERS, _collect_event),
        FunctionReplacement(AppSession, "_handle_scriptrunner_event_on_event_loop", PARAMETERS),
        FunctionReplacement(AppSession, "_call_soon_on_event_loop", "self callback"),
        FunctionReplacement(
            AppSession, "_create_scriptrunner", "self initial_rerun_data", _create_after_flush
        ),
        FunctionReplacement(
            ForwardMsgQueue, "clear", "self retain_lifecycle_msgs fragment_ids_this_run", _keep_drawn
        ),
    )
    apply(
        FunctionReplacement(
            WebsocketSessionManager, "_resume_stored_session", _ON_RESUME, _resume_without_rest
        )
    )


def hold_drawing() -> None:
    """Send what the current run draws from now on together: at its end, or after `PICTURE_S`."""
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    if context is not None and vars(AppSession)["_on_scriptrunner_event"] is _collect_event:
        _held_until[context.session_id] = time.monotonic() + PICTURE_S


def _get_held_s(session: AppSession) -> float:
    """Return for how many seconds a session's messages are still held."""
    return _held_until.get(session.id, 0.0) - time.monotonic()


def _collect_event(
    session: AppSession, sender: ScriptRunner | None, event: ScriptRunnerEvent, **details: Any
) -> None:
    """Add an event from any thread, and schedule a flush: at once, or after `HOLD_S` for drawn elements."""
    batch: _Batch = session.__dict__.get(_BATCH) or session.__dict__.setdefault(_BATCH, _Batch())
    is_first = batch.add((sender, event, details))
    message: ForwardMsg | None = details.get("forward_msg")
    if message is None:
        _held_until.pop(session.id, None)
    is_held = bool(_held_until) and _get_held_s(session) > 0
    if message is None or (not is_held and message.WhichOneof("type") not in _DELAYABLE):
        session._call_soon_on_event_loop(partial(_flush, session, batch))
    elif is_first:
        session._call_soon_on_event_loop(partial(_flush_soon, session, batch))


def _flush_soon(session: AppSession, batch: _Batch) -> None:
    asyncio.get_running_loop().call_later(HOLD_S, _flush_unless_held, session, batch)


def _flush_unless_held(session: AppSession, batch: _Batch) -> None:
    held_s = _get_held_s(session)
    if held_s > 0:
        asyncio.get_running_loop().call_later(held_s, _flush_unless_held, session, batch)
    else:
        _flush(session, batch)


def _flush(session: AppSession, batch: _Batch) -> None:
    """Handle every event of a batch as Streamlit does, and trigger sending once."""
    has_queued = False
    for sender, event, details in batch.take():
        if event == ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
            if sender is session._scriptrunner:  # else a newer run has replaced its run
                session._browser_queue.enqueue(details["forward_msg"])
                has_queued = True
        else:
            try:
                _handle_event(session, sender, event, **details)
            except Exception:  # the rest of the batch belongs to another run
                logging.getLogger(__name__).exception("Streamlit could not handle %s", event)
    if has_queued and session._message_enqueued_callback:
        session._message_enqueued_callback()


def _create_after_flush(session: AppSession, rerun_data: RerunData) -> None:
    """Handle what the last run has drawn before a fragment's new runner takes its place: later it would be ignored."""
    if session._scriptrunner is not None and _BATCH in session.__dict__:
        _flush(session, session.__dict__[_BATCH])
    _create_runner(session, rerun_data)


def _keep_drawn(queue: ForwardMsgQueue, *, fragment_ids_this_run: Any = None, **options: Any) -> None:
    """Clear the queue for a full run, which draws everything anew; a fragment's run follows what has not been sent."""
    if fragment_ids_this_run is None:
        _clear(queue, **options)
    else:
        queue._delta_index_map = {}  # its messages must not take the places of those before it


def _resume_without_rest(manager: WebsocketSessionManager, *request: Any) -> str | None:
    """Resume a session without the rest of its interrupted run: its browser asks for a run, which draws everything."""
    resumed = _resume(manager, *request)
    if resumed is not None:
        manager._active_session_info_by_id[resumed].session._browser_queue.clear()
    return resumed


def hash_message(message: ForwardMsg) -> None:
    """Hash what is drawn, and mark it as cacheable if it is large. Streamlit's own hash is 20 bytes longer."""
    if message.hash or message.WhichOneof("type") != "delta":
        _populate_hash(message)
        return
    content = message.delta.SerializeToString(deterministic=True)
    message.hash = urlsafe_b64encode(blake2b(content, digest_size=_HASH_BYTES).digest()).decode()
    is_large = len(content) >= _SMALLEST_BYTES and len(content) >= int(
        config.get_option("global.minCachedMessageSize")
    )
    message.metadata.cacheable = is_large and message.delta.WhichOneof("type") == "new_element"


def _mark_message(msg: ForwardMsg) -> None:
    """Mark a message as cacheable if it is large, is not part of a poll, and the browser has room for it."""
    hash_message(msg)
    if not msg.metadata.cacheable:  # nine of ten
        return
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    if context is None or msg.hash in context.cached_message_hashes:
        return
    count = len(context.cached_message_hashes)
    is_small = msg.ByteSize() < LARGE_BYTES
    if context.fragment_ids_this_run or count >= MAX_MESSAGES or (count >= MAX_SMALL_MESSAGES and is_small):
        msg.metadata.cacheable = False
