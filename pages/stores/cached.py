"""Everything that is computed once and shared: pictures, models, captures. Bounded, and safe to share by threads.

What is asked for stands in the arguments, down to the crop's place: nothing here knows which visit asks, so a download
that is made after the script has run may ask too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.stores import catalogue, own_weights, published, runs, uploads
from pages.stores.model_choice import ModelChoice
from pages.stores.shared_results import Results

if TYPE_CHECKING:
    from vitviz.analysis.journey import Journey
    from vitviz.config import Preparation
    from vitviz.data.dataset import Dataset
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.plots.photo import Photo
    from vitviz.probe.capture import Capture

P = ParamSpec("P")
R = TypeVar("R")
Offset = tuple[float, float]
UPLOAD = "upload:"


class Shared(Generic[P, R]):
    """A function whose results all visits share, kept by its arguments; whoever asks for the same waits for one.

    An argument whose name begins with '_' does not count: another stands for it. Arrays count by their content. What
    comes back is the very object that others have: it is never changed.
    """

    def __init__(self, function: Callable[P, R], most: int, spinner: str) -> None:
        parameters = inspect.signature(function).parameters
        self._counted = [place for place, name in enumerate(parameters) if not name.startswith("_")]
        self._all_count = len(self._counted) == len(parameters)
        self._function = function
        self._results: Results[R] = Results(most)
        self._saying = partial(_saying, spinner) if spinner else nullcontext

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"arguments are counted by their place, received {', '.join(kwargs)} by name")
        return self._results.get(self.key(args), lambda: self._function(*args, **kwargs), self._saying)

    def key(self, args: tuple[Any, ...]) -> Hashable:
        """What stands for positional arguments."""
        counted: tuple[Any, ...] = args if self._all_count else tuple(args[place] for place in self._counted)
        try:
            hash(counted)
        except TypeError:  # arrays among them
            return tuple(map(_content, counted))
        return counted

    def forget(self, *args: Any) -> None:
        """Forgets the result of these arguments."""
        self._results.forget(self.key(args))

    def clear(self) -> None:
        """Forgets every result."""
        self._results.clear()


def _content(value: Any) -> Hashable:
    if isinstance(value, list | tuple):
        return tuple(map(_content, value))
    if isinstance(value, np.ndarray):
        digest = blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()
        return value.shape, str(value.dtype), digest
    plain: Hashable = value
    return plain


def _saying(text: str) -> AbstractContextManager[Any]:
    """What a visit reads while it waits; a download that is made without a session reads nothing."""
    return nullcontext() if get_script_run_ctx(suppress_warning=True) is None else st.spinner(text)


def shared(*, most: int, spinner: str = "") -> Callable[[Callable[P, R]], Shared[P, R]]:
    """Decorates a function of positional arguments, whose results are then kept for all visits.

    Args:
        most: results kept; the one that was asked for longest ago goes first.
        spinner: what is said while a result is computed.
    """
    return lambda function: Shared(function, most, spinner)


class PerPicture(Generic[P, R]):
    """A function whose results are kept by its arguments, of which `image` is a picture's key.

    Results of pictures that everybody has are shared by all visits; what comes from an upload is kept beside the
    upload and goes with it. An argument whose name begins with '_' does not count: another stands for it.
    """

    def __init__(self, function: Callable[P, R], most: int, upload: int, spinner: str) -> None:
        self._image = list(inspect.signature(function).parameters).index("image")
        self._kind = f"{function.__module__}.{function.__qualname__}"
        self._function, self._most = function, upload
        self._everybody = Shared(function, most, spinner)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        image = str(args[self._image])
        if not image.startswith(UPLOAD):
            return self._everybody(*args, **kwargs)
        of = (self._kind, self._everybody.key(args))
        name = image.removeprefix(UPLOAD)
        return uploads.STORE.computed(name, of, self._most, lambda: self._function(*args, **kwargs))

    def clear(self) -> None:
        """Forgets every result."""
        self._everybody.clear()
        uploads.STORE.forget_computed(self._kind)


def per_picture(
    *, shared: int, upload: int, spinner: str = ""
) -> Callable[[Callable[P, R]], PerPicture[P, R]]:
    """Decorates a function of a picture (positional arguments, one of them `image`), whose results are then kept.

    Args:
        shared: results kept for all pictures but uploads.
        upload: results kept for each upload.
        spinner: what is said while a shared result is computed.
    """
    return lambda function: PerPicture(function, shared, upload, spinner)


def loaded(choice: ModelChoice, step: int | None = None) -> LoadedModel:
    """The model of a choice at a step (None: its last).

    Raises:
        KeyError: if its weights are gone.
    """
    if choice.key.startswith(own_weights.KEY):
        return own_weights.model(choice.key)  # kept by its visit, not by a cache that outlives it
    at, path, stamp = _file(choice, step)
    return _loaded(choice.key, choice, at, path, stamp)


def identity(choice: ModelChoice, step: int) -> str:
    """What changes when the weights of a choice at a step do, known without loading them."""
    key = choice.key
    return key if key.startswith(own_weights.KEY) else "@".join(map(str, (key, *_file(choice, step))))


def _file(choice: ModelChoice, step: int | None) -> tuple[int, Path | None, int]:
    """(step, file, when the file was written) of a choice at a step (None: its last)."""
    at = choice.last_step if step is None else step
    path = catalogue.file_of(choice, at)
    return at, path, 0 if path is None else _written(path)


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # a run that has just been deleted: who opens it says so
        return 0


@shared(most=12, spinner="Loading the model …")
def _loaded(key: str, _choice: ModelChoice, step: int, path: Path | None, stamp: int) -> LoadedModel:
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.models.zoo import create_model

    if key.startswith(published.KEY):
        from vitviz.models.pretrained import load_pretrained

        return load_pretrained(key.removeprefix(published.KEY))
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


TWIN_SEED = 2**31 - 1  # no training's own: weights are not compared with themselves


def untrained(model: LoadedModel) -> LoadedModel:
    """The same shape with seeded random weights."""
    return _untrained(model, model.digest)


@shared(most=8)
def _untrained(_model: LoadedModel, digest: str) -> LoadedModel:
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.models.zoo import create_model

    m = _model
    return LoadedModel(
        model=create_model(m.config, seed=TWIN_SEED),
        config=m.config,
        preparation=m.preparation,
        classes=m.classes,
        title=f"{m.title}, random weights",
        trained_on=None,
        step=0,
        digest=f"{digest}@random",
    )


def dataset(name: str) -> Dataset:
    """A data set by name; its arrays are read-only and shared.

    Raises:
        vitviz.data.dataset.DatasetError: if it is not on this machine and cannot be fetched.
    """
    from vitviz.data.own_datasets import is_own, load_own

    # A visitor's own set has its memory below: here it would outlive its removal.
    return load_own(name, runs.folder()) if is_own(name) else _dataset(name)


@shared(most=4, spinner="Loading the data set …")
def _dataset(name: str) -> Dataset:
    from vitviz.data.datasets import load_dataset

    return load_dataset(name)


def examples(name: str) -> int:
    """How many test pictures a data set on this machine has."""
    return len(dataset(name).test_images)


def picture(image: str) -> np.ndarray:
    """The picture (H, W, 3) uint8 of a key: 'sample:cat', 'digits:17' (the data set's test picture) or 'upload:ID'.

    Raises:
        KeyError: if the picture is not, or no longer, there.
    """
    kind, _, name = image.partition(":")
    if kind == "upload":
        found = uploads.STORE.get(name)
        if found is None:
            raise KeyError(image)
        return found
    if kind == "sample":
        return _sample(name)
    test = dataset(kind).test_images
    return np.broadcast_to(test[int(name)], (*test.shape[1:3], 3))


@shared(most=32)
def _sample(name: str) -> np.ndarray:
    from vitviz.data.samples import load_sample

    return load_sample(name)


@per_picture(shared=64, upload=1)
def in_colour(image: str) -> bool:
    """Whether a picture has colour."""
    from vitviz.data import images

    return images.in_colour(picture(image))


@per_picture(shared=64, upload=8)
def prepared(image: str, preparation: Preparation, offset: Offset) -> Prepared:
    """The picture as a model reads it, cropped at an offset in [0, 1]."""
    from vitviz.data.preparation import prepare

    return prepare(picture(image), preparation, offset)


@per_picture(shared=24, upload=4)
def photo(image: str, preparation: Preparation, offset: Offset, seen: bool) -> Photo:
    """What maps are drawn on: the crop in the picture's own pixels, or (`seen`) what the model sees; encoded once."""
    from vitviz.data.preparation import seen_crop
    from vitviz.plots import photo

    if seen:
        return photo.photo(prepared(image, preparation, offset).shown)
    return photo.photo(seen_crop(picture(image), preparation, offset))


def captured(
    choice: ModelChoice, step: int | None, image: str, patterns: tuple[str, ...], offset: Offset
) -> Capture:
    """What a model computes on a picture, the intermediates named by the patterns; one forward pass, then kept."""
    subject = loaded(choice, step)
    return _captured(subject.digest, subject, image, patterns, offset)


@per_picture(shared=24, upload=6)
def _captured(
    digest: str, _model: LoadedModel, image: str, patterns: tuple[str, ...], offset: Offset
) -> Capture:
    from vitviz.probe.capture import capture

    return capture(_model.model, prepared(image, _model.preparation, offset).input[None], record=patterns)


def journey(choice: ModelChoice, step: int | None, image: str, offset: Offset) -> Journey:
    """A picture's whole way through a model, for the map; one forward pass, then kept."""
    subject = loaded(choice, step)
    return _journey(subject.digest, subject, image, offset)


@per_picture(shared=16, upload=3)
def _journey(digest: str, _model: LoadedModel, image: str, offset: Offset) -> Journey:
    from vitviz.probe.journey import journey

    return journey(_model, prepared(image, _model.preparation, offset).input)


def picture_title(image: str) -> str:
    """What a picture is, in a few words that are true for everybody."""
    kind, _, name = image.partition(":")
    if kind == "upload":
        return "An uploaded picture"
    if kind == "sample":
        return catalogue.sample_title(name)
    data, index = dataset(kind), int(name)
    title = f"{catalogue.datasets()[kind]} {index:,}"
    if data.test_labels is not None:
        return f"{title}: {data.classes[int(data.test_labels[index])]}"
    return f"{title}: {data.test_names[index]}" if data.test_names else title
