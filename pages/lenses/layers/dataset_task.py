"""Select the test images of a dataset, and compute measurements over them in the background, once for all sessions."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.selection.subject import Subject
from pages.stores import background_jobs, shared_cache
from vitviz.data.dataset import Dataset
from vitviz.data.datasets import default_pictures, find_note, picture_sets
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.layers import LayerOutput, stream_layer_outputs

R = TypeVar("R")
T = TypeVar("T")
BATCH = 32  # images
Work = Generator[float, None, R]  # yields the completed share, returns the result
POLL_S = 0.7
FIRST_WAIT_S = 0.5  # quick tasks end within this time, so no progress bar flickers
MAX_TASKS = 24
# An unfinished task that no page used for this long is dropped, which frees its images.
IDLE_LIMIT_S = 60.0

_background = background_jobs.Background()
_running: set[Task[Any]] = set()
_lock = threading.Lock()


class Task(Generic[R]):
    """A computation in parts: a thread advances it, pages read its result."""

    def __init__(self, key: tuple[Hashable, ...], work: Work[R]) -> None:
        self.key = key
        self._work: Work[R] | None = work
        self._ended = threading.Event()
        self.share, self.failed = 0.0, False
        self.last_used_s = time.monotonic()
        self.result: R | None = None

    @property
    def ended(self) -> bool:
        """Return True if the task has a result or failed."""
        return self._ended.is_set()

    def advance(self) -> bool:
        """Compute the next part; return True if another one follows."""
        if self._work is None:
            return False
        try:
            # With several threads a small model takes many times as long while other processes use the cores.
            with threadpool_limits(1):
                self.share = next(self._work)
            return True
        except StopIteration as stop:
            self.result = stop.value
        except Exception:  # e.g. a deleted dataset, or weights that do not fit
            logging.getLogger(__name__).warning("a measurement over a dataset failed", exc_info=True)
            self.failed = True
        self._work = None  # frees the model
        self._ended.set()
        return False

    def wait(self, seconds: float) -> None:
        """Wait until the task has ended, at most this long."""
        self._ended.wait(seconds)


COUNTS = (32, 64, 128, 256, 512, 1000)
LARGE_TOKENS = 150  # a model with more tokens takes long for each image
FEW = 32  # images for such a model


@dataclass(frozen=True)
class ImageSubset:
    """The first test images of a dataset."""

    source: str
    count: int

    def __str__(self) -> str:
        """Return the name used in a question's key: 'digits.256'."""
        return f"{self.source}.{self.count}"

    @property
    def title(self) -> str:
        """'256 test images of Digits'."""
        return f"{self.count:,} test images of {find_note(self.source).title}"

    @property
    def dataset(self) -> Dataset:
        return shared_cache.load_dataset(self.source)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """(count, H, W, 1 or 3)."""
        return self.dataset.test_images[: self.count]

    def prepare_images(self, model: LoadedModel) -> NDArray[np.float32]:
        """Return (count, C, S, S), the model's inputs."""
        return prepare_batch(self.pixels, model.preparation)


def start_task(key: tuple[Hashable, ...], make: Callable[[], Work[R]]) -> Task[R]:
    """Return the task with this key, shared by all sessions; create it on first use, and drop idle tasks."""
    task: Task[R] = _create_task(key, make)
    task.last_used_s = now_s = time.monotonic()
    with _lock:
        _running.add(task)
        for other in [other for other in _running if other.ended or now_s - other.last_used_s > IDLE_LIMIT_S]:
            _running.remove(other)
            if not other.ended:
                _create_task.forget(other.key, None)
    return task


@shared_cache.shared(max_entries=MAX_TASKS)
def _create_task(key: tuple[Hashable, ...], _make: Callable[[], Work[Any]]) -> Task[Any]:
    return Task(key, _make())


def wait_for_results(tasks: Sequence[Task[R]], activity: str) -> list[R] | None:
    """Return all results; if some are missing, draw the progress, rerun the page at the end, and return None.

    Args:
        activity: a title for the progress bar, such as 'Comparing the layers'.
    """
    waiting = [task for task in tasks if not task.ended]
    for task in waiting:
        _background.request(task)
    if waiting:
        waiting[-1].wait(FIRST_WAIT_S)
    failed = [task for task in tasks if task.failed]
    if failed:
        for task in failed:
            _create_task.forget(task.key, None)  # the next rerun tries again
        st.warning(f"{activity} failed. Choose another dataset or another model.")
        return None
    results = [task.result for task in tasks if task.result is not None]
    if len(results) == len(tasks):
        return results
    st.fragment(_draw_progress, run_every=POLL_S)(tuple(tasks), activity)
    return None


def measure_models(
    name: str,
    models: Sequence[Subject],
    subset: ImageSubset,
    compute: Callable[..., Work[R]],
    activity: str,
    *options: Hashable,
) -> list[R] | None:
    """Return `compute(model, subset, *options)` of every model; None while tasks are running or if one failed."""
    tasks = [
        start_task(
            (name, model.model.cache_key, subset, *options),
            partial(compute, model.model, subset, *options),
        )
        for model in models
    ]
    return wait_for_results(tasks, f"{activity} over {subset.title}")


def collect_layers(
    model: LoadedModel, subset: ImageSubset, read: Callable[[LayerOutput], T], share: float
) -> Generator[float, None, list[list[T]]]:
    """Run the model over the subset, yielding the completed part of `share`.

    Returns:
        for every layer, what `read` returns for the layer's output in each batch.
    """
    images = subset.prepare_images(model)
    batches: list[list[T]] = []
    for layers in stream_layer_outputs(model, images, BATCH):
        batches.append([read(layer) for layer in layers])
        yield share * min(1.0, len(batches) * BATCH / len(images))
    return [list(layer) for layer in zip(*batches, strict=True)]


def _draw_progress(tasks: Sequence[Task[Any]], activity: str) -> None:
    if all(task.ended for task in tasks):
        st.rerun()
    for task in tasks:
        task.last_used_s = time.monotonic()
        _background.request(task)
    share = sum(1.0 if task.ended else task.share for task in tasks) / len(tasks)
    st.progress(share, f"{activity}: {100 * share:.0f} % done.")


def choose_dataset(compared: Subject, *, labelled: bool = False) -> str:
    """Draw the control of the dataset; its default is the dataset nearest to the model's training data.

    Args:
        labelled: offer only datasets with class labels.
    """
    names = [name for name in picture_sets() if name != "photos" or not labelled]
    model = compared.model
    default = default_pictures(model.trained_on, model.preparation.in_chans)
    default = default if default in names else "cifar10-few"
    widgets.follow_default("layers.set", default)
    return widgets.select(
        "layers.set", "Dataset", names, default, format_func=lambda name: find_note(name).title
    )


def choose_images(
    models: tuple[Subject, ...], most: int, usual: int, *, labelled: bool = False
) -> ImageSubset:
    """Draw the controls of dataset and image count.

    Args:
        most: the largest count offered.
        usual: the default count; `FEW` if a model is large.
    """
    source = choose_dataset(models[0], labelled=labelled)
    counts = [count for count in COUNTS if count <= most]
    default = FEW if any(model.layout.num_tokens > LARGE_TOKENS for model in models) else usual
    widgets.follow_default("layers.count", default)
    count = widgets.select_slider(
        "layers.count",
        "Test images",
        counts,
        default,
        help="The first images of the test split.",
    )
    return ImageSubset(source, min(count, shared_cache.count_test_images(source)))
