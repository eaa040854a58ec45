"""Cache images, models and activations for all sessions, with bounded memory.

All inputs are arguments, including the crop's position. Nothing here knows the user, so that a download that runs after
the script may use the caches too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.stores import catalogue, own_weights, published_weights, recorded_runs, runs, uploads
from pages.stores.model_choice import ModelChoice
from pages.stores.shared_results import ResultCache
from vitviz.config_fields import Size, format_size

if TYPE_CHECKING:
    from vitviz.analysis.forward_pass import Journey
    from vitviz.config import Preparation
    from vitviz.data.dataset import Dataset
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.plots.photo import Photo
    from vitviz.probe.capture import Capture

P = ParamSpec("P")
R = TypeVar("R")
Offset = tuple[float, float]
UPLOAD = "upload:"
SMALL_INPUT_PX = 64  # side of a model's input that shows no photo


class SharedCache(Generic[P, R]):
    """A function whose results are cached by its arguments and shared by all sessions.

    Arguments whose names start with '_' are not part of the key. An argument with a `cache_key`, such as a model, is
    replaced by it; arrays are hashed by content. Results are shared objects and must not be changed.

    Args:
        most: number of cached results.
        of_upload: number of cached results of each upload, which are removed with it; 0 if the function is of no
            image. Its key is the argument `image`, or that attribute of an argument.
    """

    def __init__(self, function: Callable[P, R], most: int, spinner: str, of_upload: int = 0) -> None:
        parameters = [*inspect.signature(function).parameters]
        self._counted = [place for place, name in enumerate(parameters) if not name.startswith("_")]
        self._image = parameters.index("image") if "image" in parameters else None
        self._kind = f"{function.__module__}.{function.__qualname__}"
        self._function, self._of_upload = function, of_upload
        self._results: ResultCache[R] = ResultCache(most)
        self._show_progress = partial(_show_spinner, spinner) if spinner else nullcontext

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"Expected positional arguments, received {', '.join(kwargs)} by name")

        def make() -> R:
            return self._function(*args, **kwargs)

        key = self.key(args)
        if self._of_upload and (image := self._find_image(args)).startswith(UPLOAD):
            name = image.removeprefix(UPLOAD)
            return uploads.STORE.computed(name, (self._kind, key), self._of_upload, make)
        return self._results.get(key, make, self._show_progress)

    def _find_image(self, args: tuple[Any, ...]) -> str:
        held = (arg.image for arg in args if hasattr(arg, "image"))
        return str(next(held) if self._image is None else args[self._image])

    def key(self, args: tuple[Any, ...]) -> Hashable:
        counted = tuple(getattr(args[place], "cache_key", args[place]) for place in self._counted)
        try:
            hash(counted)
        except TypeError:  # arrays among them
            return tuple(map(_hash_content, counted))
        return counted

    def forget(self, *args: Any) -> None:
        self._results.forget(self.key(args))

    def clear(self) -> None:
        self._results.clear()
        uploads.STORE.forget_computed(self._kind)


def _hash_content(argument: Any) -> Hashable:
    if isinstance(argument, list | tuple):
        return tuple(map(_hash_content, argument))
    if isinstance(argument, np.ndarray):
        digest = blake2b(np.ascontiguousarray(argument).data, digest_size=16).digest()
        return argument.shape, str(argument.dtype), digest
    plain: Hashable = argument
    return plain


def _show_spinner(text: str) -> AbstractContextManager[Any]:
    """Return a spinner, or a null context where there is no session."""
    return nullcontext() if get_script_run_ctx(suppress_warning=True) is None else st.spinner(text)


def shared(*, max_entries: int, spinner: str = "") -> Callable[[Callable[P, R]], SharedCache[P, R]]:
    """Return a decorator that caches a function of positional arguments for all sessions.

    Args:
        max_entries: number of cached results; the least recently used is evicted first.
        spinner: text shown while a result is computed.
    """
    return lambda function: SharedCache(function, max_entries, spinner)


def per_image(
    *, shared: int, upload: int, spinner: str = ""
) -> Callable[[Callable[P, R]], SharedCache[P, R]]:
    """Return a decorator that caches a function of an image: `shared` results, and `upload` of each upload."""
    return lambda function: SharedCache(function, shared, spinner, upload)


def load_model(choice: ModelChoice, step: int | None = None) -> LoadedModel:
    """Return the model of a choice at a step (None: the last).

    Raises:
        KeyError: if its weights have expired, or a recorded run stores none.
    """
    if choice.native is not None:
        return _fit_model(choice.native, load_model(choice.native, step), choice.config.image_size)
    if choice.key.startswith(own_weights.KEY):
        return own_weights.get_model(choice.key)  # held by its session, not by a cache that outlives it
    at, path, stamp = _find_file(choice, step)
    if path is None and recorded_runs.is_recorded(choice):
        raise KeyError(choice.key)  # never random weights in their place
    return _load_model(choice.key, choice, at, path, stamp)


_FITTED: WeakKeyDictionary[LoadedModel, dict[Size, LoadedModel]] = WeakKeyDictionary()
_MOST_FITTED = 4  # sizes of one model


def _fit_model(choice: ModelChoice, loaded: LoadedModel, size: Size) -> LoadedModel:
    """Return a model fitted to whole images, kept as long as the model itself."""
    from vitviz.models.whole_image import fit_model

    sizes = _FITTED.setdefault(loaded, {})
    if size not in sizes:
        if choice.key.startswith(
            published_weights.KEY
        ):  # from its own table of positions, which is resized once
            loaded = _load_published(choice.key, size)
        fitted = fit_model(loaded, size)
        for oldest in list(sizes)[: max(0, len(sizes) + 1 - _MOST_FITTED)]:
            sizes.pop(oldest, None)
        sizes[size] = fitted
    return sizes[size]


def identify_weights(choice: ModelChoice, step: int) -> str:
    """Return a key that changes with the weights of a choice at a step, without loading them."""
    if choice.native is not None:
        return f"{identify_weights(choice.native, step)}@{format_size(choice.config.image_size)}"
    key = choice.key
    if key.startswith(own_weights.KEY):
        return own_weights.identify_model(key)
    return "@".join(map(str, (key, *_find_file(choice, step))))


def _find_file(choice: ModelChoice, step: int | None) -> tuple[int, Path | None, int]:
    """Return (step, file, modification time) of a choice at a step (None: the last)."""
    at = choice.last_step if step is None else step
    path = catalogue.find_weights_file(choice, at)
    try:
        return at, path, 0 if path is None else path.stat().st_mtime_ns
    except FileNotFoundError:  # a run that was just deleted; opening it raises the error
        return at, path, 0


@shared(max_entries=12, spinner="Loading the model …")
def _load_model(key: str, _choice: ModelChoice, step: int, path: Path | None, stamp: int) -> LoadedModel:
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.models.zoo import create_model

    if key.startswith(published_weights.KEY):
        return _load_published(key)
    if path is None:
        classes = tuple(str(i) for i in range(getattr(_choice.config, "num_classes", 0)))
        return LoadedModel(
            model=create_model(_choice.config, seed=0),
            config=_choice.config,
            preparation=_choice.preparation,
            classes=classes,
            title=_choice.title,
            trained_on=None,
            step=0,
            digest=f"{key}@seed0",
        )
    from vitviz.checkpoints import open_model

    return open_model(path, step)


def _load_published(key: str, size: Size | None = None) -> LoadedModel:
    """Return published weights at the size that their key names, or at another one."""
    from vitviz.models.pretrained import load_pretrained

    name, side = published_weights.split_key(key)
    return load_pretrained(name, image_size=size or side)


@shared(max_entries=8)
def load_untrained(model: LoadedModel) -> LoadedModel:
    """Return a model of the same architecture with random weights from a fixed seed."""
    from vitviz.probe.image_sets import draw_untrained

    return draw_untrained(model, 0)


def load_dataset(name: str) -> Dataset:
    """Return a dataset by name; its arrays are read-only and shared.

    Raises:
        vitviz.data.dataset.DatasetError: if it is not on this machine and cannot be downloaded.
    """
    from vitviz.data.uploaded_datasets import is_uploaded, load_uploaded

    # A user's dataset is cached by `load_own`: here it would outlive its removal.
    return load_uploaded(name, runs.get_folder()) if is_uploaded(name) else _load_dataset(name)


@shared(max_entries=4, spinner="Loading the dataset …")
def _load_dataset(name: str) -> Dataset:
    from vitviz.data.datasets import load_dataset

    return load_dataset(name)


def count_test_images(name: str) -> int:
    return len(load_dataset(name).test_images)


def load_image(image: str) -> np.ndarray:
    """Return the image (H, W, 3) uint8 of a key: 'sample:cat', 'digits:17' (a test image), 'drawing:STROKES' or
    'upload:ID'.

    Raises:
        KeyError: if the image is missing or has expired.
    """
    kind, _, name = image.partition(":")
    if kind == "upload":
        pixels = uploads.STORE.get(name)
        if pixels is None:
            raise KeyError(image)
        return pixels
    if kind == "sample":
        return _load_sample(name)
    if kind == "drawing":
        from vitviz.data.drawings import draw_strokes

        return draw_strokes(name)
    test = load_dataset(kind).test_images
    return np.broadcast_to(test[int(name)], (*test.shape[1:3], 3))


@shared(max_entries=32)
def _load_sample(name: str) -> np.ndarray:
    from vitviz.data.samples import load_sample

    return load_sample(name)


@per_image(shared=64, upload=1)
def is_coloured(image: str) -> bool:
    from vitviz.data import image_decoding

    return image_decoding.in_colour(load_image(image))


@per_image(shared=64, upload=8)
def prepare_image(image: str, preparation: Preparation, offset: Offset) -> Prepared:
    from vitviz.data.image_preprocessing import prepare

    return prepare(load_image(image), preparation, offset)


def is_small_input(preparation: Preparation) -> bool:
    """Return True if a model sees too few pixels to show a photo as one."""
    return max(preparation.image_shape) <= SMALL_INPUT_PX


@per_image(shared=24, upload=4)
def encode_photo(image: str, preparation: Preparation, offset: Offset, seen: bool | None) -> Photo:
    """Return the encoded background of maps: the original crop, or (`seen`) the model's input.

    With None the model's input if it is small: what it saw of a photo is no photo.
    """
    from vitviz.data.image_preprocessing import seen_crop
    from vitviz.plots import photo

    if is_small_input(preparation) if seen is None else seen:
        return photo.encode_photo(prepare_image(image, preparation, offset).shown)
    return photo.encode_photo(seen_crop(load_image(image), preparation, offset))


def capture_activations(
    choice: ModelChoice, step: int | None, image: str, patterns: tuple[str, ...], offset: Offset
) -> Capture:
    """Return the intermediates that the patterns name, from one cached forward pass."""
    return capture_loaded(load_model(choice, step), image, patterns, offset)


@per_image(shared=24, upload=6)
def capture_loaded(model: LoadedModel, image: str, patterns: tuple[str, ...], offset: Offset) -> Capture:
    from vitviz.probe.capture import capture

    return capture(model.model, prepare_image(image, model.preparation, offset).input[None], record=patterns)


def record_journey(choice: ModelChoice, step: int | None, image: str, offset: Offset) -> Journey:
    """Return all intermediates for the model map, from one cached forward pass."""
    return _record_journey(load_model(choice, step), image, offset)


@per_image(shared=16, upload=3)
def _record_journey(model: LoadedModel, image: str, offset: Offset) -> Journey:
    from vitviz.probe.forward_pass import record_journey

    return record_journey(model, prepare_image(image, model.preparation, offset).input)


def get_image_title(image: str) -> str:
    """Return an image's title that reveals nothing about its owner."""
    kind, _, name = image.partition(":")
    if kind == "upload":
        return "An uploaded image"
    if kind == "sample":
        from vitviz.data.samples import sample

        return sample(name).title
    if kind == "drawing":
        return "A drawing"
    dataset, index = load_dataset(kind), int(name)
    title = f"{catalogue.get_dataset_title(kind)} no. {index:,}"
    if dataset.test_labels is not None:
        return f"{title}: {dataset.classes[int(dataset.test_labels[index])]}"
    return f"{title}: {dataset.test_names[index]}" if dataset.test_names else title
