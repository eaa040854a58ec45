"""A run's messages come to the server's own thread in bundles, and not one by one.

For every message Streamlit wakes that thread twice, and each time the two threads hand the interpreter's lock to and
fro: a page sends a hundred, and half of what it cost went there.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from functools import partial
from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner.script_runner import ScriptRunnerEvent

from pages.streamlit_fixes.replacement import Change, make

HOLD_S = 0.003  # the longest that a message waits for others; st.switch_page gives it 10 ms to leave
_BUNDLE = "_vitviz_bundle"  # of a session
_MAY_WAIT = ("delta", "ref_hash")  # what is drawn; what a run asks of the browser beside it leaves at once
# The run that installs this goes on with it: it is only weakly held there, and its messages would be lost.
_one_by_one = AppSession._on_scriptrunner_event
_handle = AppSession._handle_scriptrunner_event_on_event_loop
TOLD = (
    "self sender event forward_msg exception client_state page_script_hash fragment_ids_this_run pages"
    " run_descriptor"
)
Event = tuple[ScriptRunner | None, ScriptRunnerEvent, dict[str, Any]]


class _Bundle:
    """What has happened in a session's runs, in order, until the server's thread takes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[Event] = []

    def add(self, event: Event) -> bool:
        """Whether it is the first of a bundle: somebody must ask for it to be taken."""
        with self._lock:
            self._events.append(event)
            return len(self._events) == 1

    def take(self) -> list[Event]:
        """All of it, and a new bundle begins."""
        with self._lock:
            events, self._events = self._events, []
        return events


def install() -> None:
    """Has messages handed over in bundles."""
    make(
        Change(AppSession, "_on_scriptrunner_event", TOLD, _collected),
        Change(AppSession, "_handle_scriptrunner_event_on_event_loop", TOLD),
        Change(AppSession, "_call_soon_on_event_loop", "self callback"),
    )


def _collected(
    session: AppSession, sender: ScriptRunner | None, event: ScriptRunnerEvent, **said: Any
) -> None:
    """Notes what a run did, in whatever thread; has the server's thread look at once, or in a moment."""
    bundle: _Bundle = session.__dict__.get(_BUNDLE) or session.__dict__.setdefault(_BUNDLE, _Bundle())
    first = bundle.add((sender, event, said))
    message: ForwardMsg | None = said.get("forward_msg")
    if message is None or message.WhichOneof("type") not in _MAY_WAIT:
        session._call_soon_on_event_loop(partial(_take, session, bundle))
    elif first:
        session._call_soon_on_event_loop(partial(_take_soon, session, bundle))


def _take_soon(session: AppSession, bundle: _Bundle) -> None:
    asyncio.get_running_loop().call_later(HOLD_S, _take, session, bundle)


def _take(session: AppSession, bundle: _Bundle) -> None:
    """Does with everything in the bundle what Streamlit does with it, and asks once for what is new to be sent."""
    queued = False
    for sender, event, said in bundle.take():
        if event == ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
            if sender is session._scriptrunner:  # else it is of a run that another one has taken the place of
                session._browser_queue.enqueue(said["forward_msg"])
                queued = True
        else:
            try:
                _handle(session, sender, event, **said)
            except Exception:  # what follows in the bundle is another run's
                logging.getLogger(__name__).exception("Streamlit could not handle %s", event)
    if queued and session._message_enqueued_callback:
        session._message_enqueued_callback()
