"""Warm up the server in a background thread, which opens every page once, and remove expired data once a minute.

The thread also collects garbage once a minute. Streamlit's own full collection after every run is switched off in
config.toml, as it would take a quarter of a second with torch loaded; imported objects are frozen instead. Pages are
opened in an internal session, which fills the same caches as any other; nothing is drawn.
"""

import asyncio
import gc
import importlib
import logging
import os
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from streamlit import App
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime

from pages.frame import log_limits, rerun_fairness, session_capacity
from pages.selection.selection import Selection
from pages.stores import catalogue, classes, leaderboard, runs, shared_cache, uploads
from pages.streamlit_fixes import installation, module_files
from vitviz.data import image_worker, uploaded_datasets
from vitviz.data.datasets import default_picture
from vitviz.malloc import give_back
from vitviz.training import retention

_FIRST_PAGE_TIMEOUT_S = 10.0  # a slow disk must not delay the start further
_DELAY_S = 2.0  # the first users connect at once
_PERIOD_S = 60.0
_MODELS = (
    "torch",
    "vitviz.models.zoo",
    "vitviz.probe.capture",
    "vitviz.probe.map_part",
)  # needed by every page
_TABLES = ("pandas", "sklearn.decomposition")
_lock = threading.Lock()
_thread: threading.Thread | None = None
_logged: set[str] = set()  # operator's invalid settings, logged once
PAUSE_S = 0.25  # between two pages, so that users come first
_TIMEOUT_S = 120.0
_ENDED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR)


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Open the first page before the server accepts connections, then start the warm-up thread."""
    log_limits.install()
    session_capacity.install()
    rerun_fairness.install()
    try:
        await asyncio.wait_for(asyncio.to_thread(open_first_page), _FIRST_PAGE_TIMEOUT_S)
    except Exception:  # the first user then waits for the imports
        logging.getLogger(__name__).warning("the first page could not be opened in advance", exc_info=True)
    start_warm_up()
    yield


def start_warm_up() -> None:
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_warm_up, name="vitviz-warm", daemon=True)
            _thread.start()


def _warm_up() -> None:
    time.sleep(_DELAY_S)
    try:
        image_worker.WORKERS_OF_SERVER.warm()
    except OSError:  # an upload then shows the error
        logging.getLogger(__name__).warning("no process could be started to decode images", exc_info=True)
    _import_all(_MODELS)
    try:
        warm_first_map()
    except Exception:  # opening a part then shows the error
        logging.getLogger(__name__).warning("the first map could not be prepared", exc_info=True)
    if installation.is_enabled():
        module_files.compress_all()
    _import_all(_TABLES)
    from threadpoolctl import threadpool_limits

    # NumPy's matrix products are small here; more threads would only compete with other sessions'.
    threadpool_limits(1, user_api="blas")
    if os.environ.get("VITVIZ_AHEAD", "1") != "0":
        try:
            open_all_pages()
        except Exception:  # the first user of a page then computes its values
            logging.getLogger(__name__).warning("the pages could not be opened in advance", exc_info=True)
    gc.collect()
    gc.freeze()
    while True:
        try:
            leaderboard.resume_interrupted()
            time.sleep(_PERIOD_S)
            remove_expired()
        except Exception:  # tried again at the next period
            logging.getLogger(__name__).warning("expired data could not be removed", exc_info=True)
            time.sleep(_PERIOD_S)
        gc.collect()
        give_back()


def _import_all(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # a page that needs it shows the error
            logging.getLogger(__name__).warning("%s could not be loaded in advance", name, exc_info=True)
        time.sleep(0.01)  # users first


def warm_first_map() -> None:
    """Record the default image's way through the default model, for the first page's map.

    The map is stored for one token; other tokens then need neither weights nor a forward pass.
    """
    choice = next(
        (model for model in catalogue.list_checkpoints() if model.key == catalogue.get_default_model("home")),
        None,
    )
    if choice is not None:
        image = default_picture(choice.trained_on, choice.preparation.in_chans)
        shared_cache.record_journey(choice, choice.last_step, image, (Selection.crop, Selection.crop))


def remove_expired() -> None:
    """Remove expired uploads, datasets, classes and abandoned runs."""
    for store in uploads.STORES:
        store.sweep()
    classes.sweep()
    try:
        uploaded_datasets.sweep(runs.get_folder())
    except OSError:  # a full or missing disk must not end the thread
        logging.getLogger(__name__).warning("datasets could not be removed", exc_info=True)
    try:
        retention.sweep(runs.get_folder())
    except OSError:
        logging.getLogger(__name__).warning("old runs could not be removed", exc_info=True)
    except ValueError as error:
        if str(error) not in _logged:
            _logged.add(str(error))
            logging.getLogger(__name__).warning("old runs are not removed: %s", error)


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
