"""Attention distances over a set of pictures, computed once for a model, a step and a set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pages.shell import nouns
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.analysis.distance import AttentionDistances
from vitviz.config import CNNConfig
from vitviz.data.preparation import prepare_batch
from vitviz.models.loaded import LoadedModel
from vitviz.probe.capture import attention_distances, window_attention_distances
from vitviz.probe.receptive_field import gradient_maps, mean_reach_px

BY_GRADIENT = (gradient_maps, mean_reach_px)  # what measures reach


def images(model: LoadedModel, image: str, offset: cached.Offset, source: str, count: int) -> np.ndarray:
    """(count, C, S, S) as the model reads them: the first pictures of a test set, or the chosen picture alone."""
    if source == "picture":
        return cached.prepared(image, model.preparation, offset).input[None]
    return prepare_batch(cached.dataset(source).test_images[:count], model.preparation)


def a_cnn(in_chans: int) -> ModelChoice:
    """A CNN for grey or for RGB pictures: a trained one where there is one."""
    found = [
        choice
        for choice in nouns.models().values()
        if isinstance(choice.config, CNNConfig) and choice.preparation.in_chans == in_chans
    ]
    return next((choice for choice in found if choice.trained_on is not None), found[0])


def of(
    model: LoadedModel, source: str, count: int, renormalise: bool, with_entropy: bool
) -> AttentionDistances:
    """Distances of every head of a ViT; see `vitviz.probe.capture.attention_distances`."""
    return _of(
        lambda: model,
        f"{model.digest}@{model.step}",
        *_place(source),
        source,
        count,
        renormalise,
        with_entropy,
    )


def at_step(step: int, source: str, count: int, renormalise: bool, with_entropy: bool) -> AttentionDistances:
    """The same of the chosen model at a step, which is loaded only where it has not been measured."""
    choice = nouns.choice()
    known = cached.identity(choice, step)
    return _of(
        lambda: cached.loaded(choice, step), known, *_place(source), source, count, renormalise, with_entropy
    )


def _place(source: str) -> tuple[str, cached.Offset]:
    """What a cache must know of the chosen picture: its name and where it is cropped; nothing where a set is read."""
    now = nouns.current()
    return (now.image, now.offset) if source == "picture" else ("", (0.5, 0.5))


@cached.per_picture(shared=64, upload=16, spinner="Measuring every head …")
def _of(
    _load: Callable[[], LoadedModel],
    known: str,
    image: str,
    offset: cached.Offset,
    source: str,
    count: int,
    renormalise: bool,
    with_entropy: bool,
) -> AttentionDistances:
    model = _load()
    pictures = images(model, image, offset, source, count)
    return attention_distances(model.model, pictures, renormalise, with_entropy)


def of_windows(model: LoadedModel, source: str, count: int) -> tuple[list[str], np.ndarray]:
    """Distances of every head of a Swin; see `vitviz.probe.capture.window_attention_distances`."""
    return _of_windows(model, model.digest, model.step, *_place(source), source, count)


@cached.per_picture(shared=32, upload=4, spinner="Measuring every head …")
def _of_windows(
    _model: LoadedModel,
    digest: str,
    step: int,
    image: str,
    offset: cached.Offset,
    source: str,
    count: int,
) -> tuple[list[str], np.ndarray]:
    return window_attention_distances(_model.model, images(_model, image, offset, source, count))


def gradient_reach(model: LoadedModel, names: list[str], source: str, count: int) -> np.ndarray:
    """Mean distance, in pixels, of the pixels that the central output of each layer reads."""
    return _reach(model, model.digest, model.step, tuple(names), *_place(source), source, count)


@cached.per_picture(shared=16, upload=4, spinner="Following the gradients …")
def _reach(
    _model: LoadedModel,
    digest: str,
    step: int,
    names: tuple[str, ...],
    image: str,
    offset: cached.Offset,
    source: str,
    count: int,
) -> np.ndarray:
    maps = gradient_maps(_model.model, images(_model, image, offset, source, count), names)
    return np.array([mean_reach_px(*maps[name]) for name in names])
