"""Open every page once in an internal session, to fill the caches.

The session runs the same scripts as any other, so it fills the same caches; nothing is drawn.
"""

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime

PAUSE_S = 0.25  # between two pages, so that users come first
_TIMEOUT_S = 120.0
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)


class _WarmUpClient:
    """A session client that stores page hashes and signals the end of each run."""

    client_context = None  # no cookies or headers, so it gets its own user

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.ended: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def write_forward_msg(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self.pages = [entry.page_script_hash for entry in message.navigation.app_pages]
        elif kind == "script_finished" and message.script_finished in _ENDED:
            self.ended.put(True)


def open_first_page() -> None:
    with _connect() as (_, run):
        run("")


def open_all_pages() -> int:
    """Open every page with the default model and image; return how many were opened.

    Call it from a separate thread; it returns 0 if this process is not a server.
    """
    if not Runtime.exists():
        return 0
    with _connect() as (client, run):
        run("")
        for page in client.pages:
            time.sleep(PAUSE_S)
            run(page)
        return len(client.pages)


@contextmanager
def _connect() -> Iterator[tuple[_WarmUpClient, Callable[[str], None]]]:
    """Connect an internal session; yield it and a function that runs a page to its end."""
    runtime, client = Runtime.instance(), _WarmUpClient()
    loop = runtime._get_async_objs().eventloop

    def run_on_server(function: Callable[[], Any]) -> Any:
        """Run a function on the server's thread, which creates sessions, and wait for it."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        loop.call_soon_threadsafe(lambda: done.put(function()))
        return done.get(timeout=_TIMEOUT_S)

    def run(page: str) -> None:
        message = BackMsg()
        message.rerun_script.widget_states.SetInParent()
        message.rerun_script.page_script_hash = page
        run_on_server(lambda: runtime.handle_backmsg(session, message))
        client.ended.get(timeout=_TIMEOUT_S)

    session = run_on_server(lambda: runtime.connect_session(client, {}))
    try:
        yield client, run
    finally:
        loop.call_soon_threadsafe(runtime.close_session, session)
