"""Attention distances over a set of pictures, computed once for a model, a step and a set."""

from __future__ import annotations

import inspect

import numpy as np
import streamlit as st

from pages._shared import cached
from vitviz.analysis import distance as analysis
from vitviz.analysis.distance import AttentionDistances
from vitviz.capture import attention_distances, window_attention_distances
from vitviz.data.preparation import prepare_batch
from vitviz.models.loaded import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.receptive_field import gradient_maps, mean_reach_px


def images(model: LoadedModel, chosen: str, source: str, count: int) -> np.ndarray:
    """(count, C, S, S) as the model reads them: the first pictures of a test set, or the chosen picture alone."""
    if source == "picture":
        return cached.prepared(chosen, model.preparation).input[None]
    return prepare_batch(cached.dataset(source).test_images[:count], model.preparation)


def untrained(model: LoadedModel) -> LoadedModel:
    """The same shape with seeded random weights."""
    return _untrained(model, model.digest)


@st.cache_resource(max_entries=8, show_spinner=False)
def _untrained(_model: LoadedModel, digest: str) -> LoadedModel:
    m = _model
    return LoadedModel(
        create_model(m.config, seed=0),
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
    """Distances of every head of a ViT; see `vitviz.capture.attention_distances`."""
    return _of(
        model,
        model.digest,
        model.step,
        chosen if source == "picture" else "",
        source,
        count,
        renormalise,
        with_entropy,
    )


@st.cache_data(max_entries=64, show_spinner="Measuring every head …")
def _of(
    _model: LoadedModel,
    digest: str,
    step: int,
    chosen: str,
    source: str,
    count: int,
    renormalise: bool,
    with_entropy: bool,
) -> AttentionDistances:
    return attention_distances(_model.model, images(_model, chosen, source, count), renormalise, with_entropy)


def of_windows(model: LoadedModel, chosen: str, source: str, count: int) -> tuple[list[str], np.ndarray]:
    """Distances of every head of a Swin; see `vitviz.capture.window_attention_distances`."""
    return _of_windows(model, model.digest, model.step, chosen if source == "picture" else "", source, count)


@st.cache_data(max_entries=32, show_spinner="Measuring every head …")
def _of_windows(
    _model: LoadedModel, digest: str, step: int, chosen: str, source: str, count: int
) -> tuple[list[str], np.ndarray]:
    return window_attention_distances(_model.model, images(_model, chosen, source, count))


def gradient_reach(model: LoadedModel, names: list[str], chosen: str, source: str, count: int) -> np.ndarray:
    """Mean distance, in pixels, of the pixels that the central output of each layer reads."""
    return _gradient_reach(
        model, model.digest, model.step, tuple(names), chosen if source == "picture" else "", source, count
    )


@st.cache_data(max_entries=16, show_spinner="Following the gradients …")
def _gradient_reach(
    _model: LoadedModel, digest: str, step: int, names: tuple[str, ...], chosen: str, source: str, count: int
) -> np.ndarray:
    maps = gradient_maps(_model.model, images(_model, chosen, source, count), names)
    return np.array([mean_reach_px(*maps[name]) for name in names])


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
