"""What the pages show at first is computed before a class asks: a visitor of the server's own looks at each once.

The same script runs as for anybody, so the same caches are filled, whatever a page keeps in them; nothing is drawn.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime

PAUSE_S = 0.25  # between two pages: visitors first
_ANSWER_S = 120.0
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)


class _Nobody:
    """A session's client that keeps the pages' names, and says when a run has ended."""

    client_context = None  # no cookies, no headers: a visit of its own

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.ended: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def write_forward_msg(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self.pages = [entry.page_script_hash for entry in message.navigation.app_pages]
        elif kind == "script_finished" and message.script_finished in _ENDED:
            self.ended.put(True)


def first_look() -> None:
    """Opens the page that the app opens with, which waits for no model."""
    with _visit() as (_, run):
        run("")


def look() -> int:
    """Opens every page once with the model and the picture that stand first; how many were opened.

    Called from a thread of its own; returns 0 where this process serves nobody.
    """
    if not Runtime.exists():
        return 0
    with _visit() as (nobody, run):
        run("")
        for page in nobody.pages:
            time.sleep(PAUSE_S)
            run(page)
        return len(nobody.pages)


@contextmanager
def _visit() -> Iterator[tuple[_Nobody, Callable[[str], None]]]:
    """A visitor, and what runs a page for it, by its hash, to its end; not on the server's own thread."""
    runtime, nobody = Runtime.instance(), _Nobody()
    loop = runtime._get_async_objs().eventloop

    def there(do: Callable[[], Any]) -> Any:
        """Does something on the server's own thread, where sessions are made, and waits for it."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        loop.call_soon_threadsafe(lambda: done.put(do()))
        return done.get(timeout=_ANSWER_S)

    def run(page: str) -> None:
        message = BackMsg()
        message.rerun_script.widget_states.SetInParent()
        message.rerun_script.page_script_hash = page
        there(lambda: runtime.handle_backmsg(session, message))
        nobody.ended.get(timeout=_ANSWER_S)

    session = there(lambda: runtime.connect_session(nobody, {}))
    try:
        yield nobody, run
    finally:
        loop.call_soon_threadsafe(runtime.close_session, session)
