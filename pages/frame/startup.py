"""Start the server: open its first page, warm it up in a background thread, then remove expired data once a minute.

The thread also collects garbage once a minute. Streamlit's own full collection after every run is switched off in
config.toml, as it would take a quarter of a second with torch loaded; imported objects are frozen instead.
"""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from streamlit import App

from pages.frame import warm_up
from pages.stores import classes, leaderboard, runs, uploads
from pages.streamlit_fixes.required import (
    log_limits,
    request_limits,
    rerun_fairness,
    session_capacity,
    upload_guard,
)
from vitviz.data import uploaded_datasets
from vitviz.malloc import give_back
from vitviz.training import retention

_FIRST_PAGE_TIMEOUT_S = 10.0  # a slow disk must not delay the start further
_PERIOD_S = 60.0
_QUEUE_CHECKS = 6  # per period, for runs that waited on a server that has ended
_lock = threading.Lock()
_thread: threading.Thread | None = None
_logged: set[str] = set()  # operator's invalid settings, logged once


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Open the first page before the server accepts connections, then start the background thread."""
    log_limits.install()
    session_capacity.install()
    rerun_fairness.install()
    request_limits.install()
    try:
        await asyncio.wait_for(asyncio.to_thread(warm_up.open_first_page), _FIRST_PAGE_TIMEOUT_S)
    except Exception:  # the first user then waits for the imports
        logging.getLogger(__name__).warning("the first page could not be opened in advance", exc_info=True)
    start_background_thread()
    yield


def start_background_thread() -> None:
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_work, name="vitviz-background", daemon=True)
            _thread.start()


def _work() -> None:
    _try(warm_up.run, "the server could not be warmed up")
    while True:
        give_back()
        _try(leaderboard.resume_interrupted, "the leaderboard's runs could not be resumed")
        for _ in range(_QUEUE_CHECKS):
            _try(runs.take_up_queued, "the runs that waited could not be queued")
            time.sleep(_PERIOD_S / _QUEUE_CHECKS)
        _try(remove_expired, "expired data could not be removed")
        gc.collect()


def _try(step: Callable[[], object], failed: str) -> None:
    """Run a step of the background thread; a failure must not keep the thread from the others."""
    try:
        step()
    except Exception:  # tried again at the next period
        logging.getLogger(__name__).warning(failed, exc_info=True)


def remove_expired() -> None:
    """Remove expired uploads, datasets, classes and abandoned runs, and weights that a killed process left."""
    from vitviz.models.formats.uploaded_weights import remove_leftovers

    upload_guard.remove_unclaimed()
    remove_leftovers()
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
