"""Warm up the server in a background thread, and remove expired data once a minute.

The thread also collects garbage once a minute. Streamlit's own full collection after every run is switched off in
config.toml, as it would take a quarter of a second with torch loaded; imported objects are frozen instead.
"""

import asyncio
import gc
import importlib
import logging
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit import App

from pages.frame import log_limits, rerun_fairness, session_capacity, warm_up
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


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Open the first page before the server accepts connections, then start the warm-up thread."""
    log_limits.install()
    session_capacity.install()
    rerun_fairness.install()
    try:
        await asyncio.wait_for(asyncio.to_thread(warm_up.open_first_page), _FIRST_PAGE_TIMEOUT_S)
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
            warm_up.open_all_pages()
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
