"""Warm up a new server: import the libraries and open every page once, after the page runs of users.

Pages are opened in an internal session, which fills the same caches as any other; nothing is drawn.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.abc import MetaPathFinder
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime

from pages.selection import default_model
from pages.selection.selection import Selection
from pages.stores import catalogue, shared_cache
from pages.streamlit_fixes import installation
from pages.streamlit_fixes.optional import module_files
from pages.streamlit_fixes.required import rerun_fairness
from vitviz.data import image_worker
from vitviz.data.datasets import default_picture

QUIET_S = 1.0  # after a request: a browser that loads a page runs its modules for as long between two
MAX_YIELD_S = 10.0  # in total: a busy server must become ready too
_LOOK_S = 0.05
_LIBRARIES = (
    "torch",
    "vitviz.models.zoo",
    "vitviz.probe.capture",
    "vitviz.probe.named_records",
    "pandas",
    "sklearn.decomposition",
)
_TIMEOUT_S = 120.0
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)
READY = threading.Event()  # set once a first class can come


class Precedence:
    """Give users precedence: the warm-up waits while a page of theirs loads or runs, for `MAX_YIELD_S` in total."""

    def __init__(
        self,
        is_running: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._is_running, self._clock, self._sleep = is_running, clock, sleep
        self._requested_at = clock()
        self._left_s = MAX_YIELD_S

    def note_request(self) -> None:
        self._requested_at = self._clock()

    def wait(self) -> None:
        """Return once no user waits for a page."""
        while self._left_s > 0 and self._is_user_waiting():
            self._sleep(_LOOK_S)
            self._left_s -= _LOOK_S

    def _is_user_waiting(self) -> bool:
        return self._clock() - self._requested_at < QUIET_S or self._is_running()


PRECEDENCE = Precedence(rerun_fairness.SHARES.is_busy)  # of this server's users


class _YieldBetweenModules(MetaPathFinder):
    """Lets users go first between two modules of an import, which may load a thousand; finds nothing itself."""

    def __init__(self) -> None:
        self._thread = threading.current_thread()

    def find_spec(self, *_: object) -> None:
        if threading.current_thread() is self._thread:
            PRECEDENCE.wait()


def run() -> None:
    """Warm up everything that a first class needs, then report that the server is ready, whatever failed."""
    try:
        _run_steps()
    finally:
        READY.set()


def _run_steps() -> None:
    PRECEDENCE.note_request()  # the first user connects as soon as the server listens
    PRECEDENCE.wait()
    files = threading.Thread(target=_warm_files, name="vitviz-warm-files", daemon=True)
    files.start()
    _import_libraries()
    files.join(_TIMEOUT_S)
    _try(warm_first_map, "the first map could not be prepared")
    if is_wanted():
        _try(open_all_pages, "the pages could not be opened in advance")
    from threadpoolctl import threadpool_limits

    # NumPy's matrix products are small here; more threads would only compete with other sessions'.
    threadpool_limits(1, user_api="blas")
    gc.collect()
    gc.freeze()


def is_wanted() -> bool:
    """Return False if the operator wants a server that is ready at once, and opens no page in advance."""
    return os.environ.get("VITVIZ_AHEAD", "1") != "0"


def _try(step: Callable[[], object], failed: str) -> None:
    """Run a step; after a failure the first user who needs it computes its values, or sees the error."""
    PRECEDENCE.wait()
    try:
        step()
    except Exception:
        logging.getLogger(__name__).warning(failed, exc_info=True)


def _warm_files() -> None:
    """Start the process that decodes images, and compress the browser's files, which needs no interpreter."""
    _try(image_worker.WORKERS_OF_SERVER.warm, "no process could be started to decode images")
    if installation.is_enabled():
        _try(module_files.compress_all, "the browser's files could not be compressed")


def _import_libraries() -> None:
    finder = _YieldBetweenModules()
    sys.meta_path.insert(0, finder)
    try:
        for name in _LIBRARIES:
            _try(partial(importlib.import_module, name), f"{name} could not be loaded in advance")
    finally:
        sys.meta_path.remove(finder)


def warm_first_map() -> None:
    """Record the default image's way through the default model, for the first page's map.

    The map is stored for one token; other tokens then need neither weights nor a forward pass.
    """
    choice = next(
        (
            model
            for model in catalogue.list_checkpoints()
            if model.key == default_model.get_default_model("home")
        ),
        None,
    )
    if choice is not None:
        image = default_picture(choice.trained_on, choice.preparation.in_chans)
        shared_cache.record_journey(choice, choice.last_step, image, (Selection.crop, Selection.crop))


class _InternalClient:
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
    with _connect() as (_, run_page):
        run_page("")


def open_all_pages() -> int:
    """Open every page with the default model and image; return how many were opened.

    Call it from a separate thread; it returns 0 if this process is not a server.
    """
    if not Runtime.exists():
        return 0
    with _connect() as (client, run_page):
        run_page("")
        for page in client.pages:
            PRECEDENCE.wait()
            run_page(page)
        return len(client.pages)


@contextmanager
def _connect() -> Iterator[tuple[_InternalClient, Callable[[str], None]]]:
    """Connect an internal session; yield it and a function that runs a page to its end."""
    runtime, client = Runtime.instance(), _InternalClient()
    loop = runtime._get_async_objs().eventloop

    def run_on_server(function: Callable[[], Any]) -> Any:
        """Run a function on the server's thread, which creates sessions, and wait for it."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        loop.call_soon_threadsafe(lambda: done.put(function()))
        return done.get(timeout=_TIMEOUT_S)

    def run_page(page: str) -> None:
        message = BackMsg()
        message.rerun_script.widget_states.SetInParent()
        message.rerun_script.page_script_hash = page
        run_on_server(lambda: runtime.handle_backmsg(session, message))
        client.ended.get(timeout=_TIMEOUT_S)

    session = run_on_server(lambda: runtime.connect_session(client, {}))
    try:
        yield client, run_page
    finally:
        loop.call_soon_threadsafe(runtime.close_session, session)
