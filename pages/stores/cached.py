"""Everything that is computed once and shared: pictures, models, captures. Bounded, and safe to share by threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.shell import nouns
from pages.stores import catalogue, own_weights, published, runs, uploads

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.dataset import Dataset
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded import LoadedModel
    from vitviz.probe.capture import Capture


def loaded(model: str, step: int | None = None) -> LoadedModel:
    """The model of a key such as 'preset:vit_digits' or 'checkpoint:digits_vit', at a step (None: its last).

    Raises:
        KeyError: if no model has this key.
    """
    if model.startswith(own_weights.KEY):
        return own_weights.model(model)  # kept by its visit, not by a cache that outlives it
    return _loaded(model, *_file(model, step))


def identity(model: str, step: int) -> str:
    """What changes when the weights of a key at a step do, known without loading them.

    Raises:
        KeyError: if no model has this key.
    """
    return model if model.startswith(own_weights.KEY) else "@".join(map(str, (model, *_file(model, step))))


def _file(model: str, step: int | None) -> tuple[int, Path | None, int]:
    """(step, file, when the file was written) of a key at a step (None: its last)."""
    choice = catalogue.models()[model]
    at = choice.steps[-1] if step is None else step
    path = catalogue.file_of(choice, at)
    return at, path, path.stat().st_mtime_ns if path is not None else 0


@st.cache_resource(max_entries=12, show_spinner="Loading the model …")
def _loaded(model: str, step: int, path: Path | None, stamp: int) -> LoadedModel:
    from vitviz.models.loaded import LoadedModel
    from vitviz.models.zoo import create_model

    choice = catalogue.models()[model]
    if model.startswith(published.KEY):
        from vitviz.models.pretrained import load_pretrained

        return load_pretrained(model.removeprefix(published.KEY))
    if path is None:
        classes = tuple(str(i) for i in range(getattr(choice.config, "num_classes", 0)))
        return LoadedModel(
            create_model(choice.config, seed=0),
            choice.config,
            choice.preparation,
            classes,
            choice.title,
            None,
            0,
            f"{model}@seed0",
        )
    from vitviz.checkpoints import open_model

    return open_model(path, step)


def dataset(name: str) -> Dataset:
    """A data set by name; its arrays are read-only and shared.

    Raises:
        vitviz.data.dataset.DatasetError: if it is not on this machine and cannot be fetched.
    """
    from vitviz.data.own import is_own, load_own

    # A visitor's own set has its memory below: here it would outlive its removal.
    return load_own(name, runs.folder()) if is_own(name) else _dataset(name)


@st.cache_resource(max_entries=4, show_spinner="Loading the data set …")
def _dataset(name: str) -> Dataset:
    from vitviz.data.datasets import load_dataset

    return load_dataset(name)


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


@st.cache_resource(max_entries=32, show_spinner=False)
def _sample(name: str) -> np.ndarray:
    from vitviz.data.samples import load_sample

    return load_sample(name)


def prepared(image: str, preparation: Preparation, offset: tuple[float, float] | None = None) -> Prepared:
    """The picture as a model reads it; the offset of the crop is the sidebar's unless one is given."""
    at = nouns.current().offset if offset is None else offset
    find = kept_for(image, _prepared, _prepared_upload)
    return find(image, preparation, at)


def captured(
    model: str,
    step: int | None,
    image: str,
    patterns: tuple[str, ...],
    offset: tuple[float, float] | None = None,
) -> Capture:
    """What a model computes on a picture, the intermediates named by the patterns; one forward pass, then kept."""
    at = nouns.current().offset if offset is None else offset
    subject = loaded(model, step)
    find = kept_for(image, _captured, _captured_upload)
    return find(subject.digest, subject, image, patterns, at)


def kept_for(image: str, everybody: Any, visit: Any) -> Any:
    """The cache that a picture's results belong in: an upload's are the visit's alone."""
    return visit if image.startswith("upload:") else everybody


_of_uploads: list[Any] = []


def forgets(*caches: Any) -> None:
    """Declares caches of session scope that hold what was computed from uploads: `forget_uploads` clears them."""
    _of_uploads.extend(caches)


def forget_uploads() -> None:
    """Drops everything that this visit has computed from its uploads."""
    for cache in _of_uploads:
        cache.clear()


def _prepare(image: str, preparation: Preparation, offset: tuple[float, float]) -> Prepared:
    from vitviz.data.preparation import prepare

    return prepare(picture(image), preparation, offset)


def _capture(
    digest: str, _model: LoadedModel, image: str, patterns: tuple[str, ...], offset: tuple[float, float]
) -> Capture:
    from vitviz.probe.capture import capture

    return capture(_model.model, prepared(image, _model.preparation, offset).input[None], record=patterns)


# What comes from an upload lives as long as its visit and no longer: session scope, cleared when it is removed.
_prepared = st.cache_resource(max_entries=64, show_spinner=False)(_prepare)
_prepared_upload = st.cache_resource(max_entries=8, show_spinner=False, scope="session")(_prepare)
_captured = st.cache_resource(max_entries=24, show_spinner=False)(_capture)
_captured_upload = st.cache_resource(max_entries=6, show_spinner=False, scope="session")(_capture)
forgets(_prepared_upload, _captured_upload)
