"""What the first page imports is there before the first visit; what is heavy loads behind it, in one thread per server.

That thread then collects garbage once a minute. Streamlit's own full collection after every run is switched off in
config.toml; with torch loaded each would hold every visit for a quarter of a second. What has been imported is frozen
out of the collector instead.
"""

from __future__ import annotations

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

from pages.frame import warm_up
from pages.selection.selection import Nouns
from pages.stores import cached, catalogue, classes, runs, uploads
from vitviz.data import image_worker, own_datasets
from vitviz.data.datasets import default_picture
from vitviz.memory import give_back
from vitviz.training import retention

_FIRST_S = 10.0  # a disk that is slower than that keeps nobody out
_DELAY_S = 2.0  # who has waited for the server to start comes at once
_PERIOD_S = 60.0
_MODELS = (
    "torch",
    "vitviz.models.zoo",
    "vitviz.probe.capture",
    "vitviz.probe.map_part",
)  # every page waits for these
_FIGURES = ("pandas", "plotly.graph_objects", "sklearn.decomposition")
_lock = threading.Lock()
_thread: threading.Thread | None = None
_told: set[str] = set()  # wrong settings of the operator's, said once


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """A server's life: it looks at its first page itself before anybody may come, and is then warmed behind visits."""
    try:
        await asyncio.wait_for(asyncio.to_thread(warm_up.first_look), _FIRST_S)
    except Exception:  # whoever comes first waits for what the page imports
        logging.getLogger(__name__).warning("the first page could not be looked at in advance", exc_info=True)
    begin()
    yield


def begin() -> None:
    """Starts the thread, once per server; returns at once."""
    global _thread
    with _lock:
        if _thread is None:
            _thread = threading.Thread(target=_run, name="vitviz-warm", daemon=True)
            _thread.start()


def _run() -> None:
    time.sleep(_DELAY_S)
    try:
        image_worker.WORKERS_OF_SERVER.warm()
    except OSError:  # whoever uploads an image is told
        logging.getLogger(__name__).warning("no process could be started to decode images", exc_info=True)
    _load(_MODELS)
    try:
        first_way()
    except Exception:  # a visitor who opens a part is told
        logging.getLogger(__name__).warning("the first map could not be prepared", exc_info=True)
    _load(_FIGURES)
    from threadpoolctl import threadpool_limits

    # NumPy's matrix products are small here; a second thread each would only wait for the other visits' threads.
    threadpool_limits(1, user_api="blas")
    if os.environ.get("VITVIZ_AHEAD", "1") != "0":
        try:
            warm_up.look()
        except Exception:  # whoever opens the page computes what it shows
            logging.getLogger(__name__).warning("the pages could not be looked at in advance", exc_info=True)
    gc.collect()
    gc.freeze()
    while True:
        time.sleep(_PERIOD_S)
        try:
            tidy()
        except Exception:  # the next time may go well, and all that follows waits for none
            logging.getLogger(__name__).warning("the server could not be tidied", exc_info=True)
        gc.collect()
        give_back()


def _load(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # a page that needs it says so; the server goes on
            logging.getLogger(__name__).warning("%s could not be loaded in advance", name, exc_info=True)
        time.sleep(0.01)  # visits first


def first_way() -> None:
    """Takes the picture that the app opens with through the model that it opens with.

    The map of the first page and its parts are stored for one token; another token's then waits for no weights and no
    way.
    """
    choice = next((one for one in catalogue.shipped() if one.key == catalogue.default_model()), None)
    if choice is not None:
        image = default_picture(choice.trained_on, choice.preparation.in_chans)
        cached.journey(choice, choice.last_step, image, (Nouns.crop, Nouns.crop))


def tidy() -> None:
    """Forgets what visitors have left behind: uploads, sets, classes, and runs that nobody has watched for long."""
    for store in uploads.STORES:
        store.sweep()
    classes.sweep()
    try:
        own_datasets.sweep(runs.folder())
    except OSError:  # a disk that is full or gone must not end the collecting
        logging.getLogger(__name__).warning("sets of pictures could not be removed", exc_info=True)
    try:
        retention.sweep(runs.folder())
    except OSError:
        logging.getLogger(__name__).warning("old runs could not be removed", exc_info=True)
    except ValueError as error:
        if str(error) not in _told:
            _told.add(str(error))
            logging.getLogger(__name__).warning("old runs are not removed: %s", error)
