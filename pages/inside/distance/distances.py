"""Attention distances over a set of pictures, computed once for a model, a step and a set."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import streamlit as st

from pages.shell import nouns
from pages.stores import cached, catalogue
from vitviz.analysis import distance as analysis
from vitviz.analysis.distance import AttentionDistances
from vitviz.config import CNNConfig
from vitviz.data.preparation import prepare_batch
from vitviz.models.loaded import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.probe.capture import attention_distances, window_attention_distances
from vitviz.probe.receptive_field import gradient_maps, mean_reach_px


def images(model: LoadedModel, chosen: str, source: str, count: int) -> np.ndarray:
    """(count, C, S, S) as the model reads them: the first pictures of a test set, or the chosen picture alone."""
    if source == "picture":
        return cached.prepared(chosen, model.preparation).input[None]
    return prepare_batch(cached.dataset(source).test_images[:count], model.preparation)


def a_cnn(in_chans: int) -> str:
    """The key of a CNN for grey or for RGB pictures: a trained one where there is one."""
    found = [
        choice
        for choice in catalogue.models().values()
        if isinstance(choice.config, CNNConfig) and choice.preparation.in_chans == in_chans
    ]
    return next((choice.key for choice in found if choice.trained_on is not None), found[0].key)


TWIN_SEED = 2**31 - 1  # no training's own: weights are not compared with themselves


def untrained(model: LoadedModel) -> LoadedModel:
    """The same shape with seeded random weights."""
    return _untrained(model, model.digest)


@st.cache_resource(max_entries=8, show_spinner=False)
def _untrained(_model: LoadedModel, digest: str) -> LoadedModel:
    m = _model
    return LoadedModel(
        create_model(m.config, seed=TWIN_SEED),
        m.config,
        m.preparation,
        m.classes,
        f"{m.title}, random weights",
        None,
        0,
        f"{digest}@random",
    )


def of(
    model: LoadedModel, chosen: str, source: str, count: int, renormalise: bool, with_entropy: bool
) -> AttentionDistances:
    """Distances of every head of a ViT; see `vitviz.probe.capture.attention_distances`."""
    place = _picture(chosen, source)
    find = _of_upload if _from_upload(chosen, source) else _of
    return find(
        lambda: model, f"{model.digest}@{model.step}", *place, source, count, renormalise, with_entropy
    )


def at_step(
    key: str, step: int, chosen: str, source: str, count: int, renormalise: bool, with_entropy: bool
) -> AttentionDistances:
    """The same of a model's key at a step, which is loaded only where it has not been measured."""
    place = _picture(chosen, source)
    find = _of_upload if _from_upload(chosen, source) else _of
    known = cached.identity(key, step)
    return find(lambda: cached.loaded(key, step), known, *place, source, count, renormalise, with_entropy)


def _picture(chosen: str, source: str) -> tuple[str, tuple[float, float]]:
    """What a cache must know of the chosen picture: its name and where it is cropped; nothing where a set is read."""
    return (chosen, nouns.current().offset) if source == "picture" else ("", (0.5, 0.5))


def _from_upload(chosen: str, source: str) -> bool:
    return source == "picture" and chosen.startswith("upload:")


def _measure(
    _load: Callable[[], LoadedModel],
    identity: str,
    chosen: str,
    offset: tuple[float, float],
    source: str,
    count: int,
    renormalise: bool,
    with_entropy: bool,
) -> AttentionDistances:
    model = _load()
    return attention_distances(model.model, images(model, chosen, source, count), renormalise, with_entropy)


def of_windows(model: LoadedModel, chosen: str, source: str, count: int) -> tuple[list[str], np.ndarray]:
    """Distances of every head of a Swin; see `vitviz.probe.capture.window_attention_distances`."""
    find = _of_windows_upload if _from_upload(chosen, source) else _of_windows
    return find(model, model.digest, model.step, *_picture(chosen, source), source, count)


def _measure_windows(
    _model: LoadedModel,
    digest: str,
    step: int,
    chosen: str,
    offset: tuple[float, float],
    source: str,
    count: int,
) -> tuple[list[str], np.ndarray]:
    return window_attention_distances(_model.model, images(_model, chosen, source, count))


def gradient_reach(model: LoadedModel, names: list[str], chosen: str, source: str, count: int) -> np.ndarray:
    """Mean distance, in pixels, of the pixels that the central output of each layer reads."""
    find = _reach_upload if _from_upload(chosen, source) else _reach
    return find(model, model.digest, model.step, tuple(names), *_picture(chosen, source), source, count)


def _measure_reach(
    _model: LoadedModel,
    digest: str,
    step: int,
    names: tuple[str, ...],
    chosen: str,
    offset: tuple[float, float],
    source: str,
    count: int,
) -> np.ndarray:
    maps = gradient_maps(_model.model, images(_model, chosen, source, count), names)
    return np.array([mean_reach_px(*maps[name]) for name in names])


_HEADS, _GRADIENTS = "Measuring every head …", "Following the gradients …"
_of = st.cache_data(max_entries=64, show_spinner=_HEADS)(_measure)
_of_windows = st.cache_data(max_entries=32, show_spinner=_HEADS)(_measure_windows)
_reach = st.cache_data(max_entries=16, show_spinner=_GRADIENTS)(_measure_reach)
# What comes from an upload lives as long as its visit and no longer: session scope, cleared when it is removed.
_of_upload = st.cache_data(max_entries=16, show_spinner=_HEADS, scope="session")(_measure)
_of_windows_upload = st.cache_data(max_entries=4, show_spinner=_HEADS, scope="session")(_measure_windows)
_reach_upload = st.cache_data(max_entries=4, show_spinner=_GRADIENTS, scope="session")(_measure_reach)
cached.forgets(_of_upload, _of_windows_upload, _reach_upload)


def source() -> str:
    """The code that computes the distances, as it stands."""
    return (
        inspect.getsource(analysis.patch_distances_px)
        + "\n\n"
        + inspect.getsource(analysis.mean_attention_distance_px)
    )


def gradient_source() -> str:
    """The code that measures reach with gradients, as it stands."""
    return inspect.getsource(gradient_maps) + "\n\n" + inspect.getsource(mean_reach_px)
