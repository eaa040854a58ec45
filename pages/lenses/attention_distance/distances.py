"""What the lens measures over a set of pictures, computed once for a model, a step and a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pages.selection import selection
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.distance import AttentionDistances, spread_of_heads, uniform_distance_px
from vitviz.data.datasets import default_pictures
from vitviz.data.preparation import prepare_batch
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import attention_distances, window_attention_distances
from vitviz.probe.receptive_field import gradient_maps, mean_reach_px

BY_GRADIENT = (gradient_maps, mean_reach_px)  # what measures reach
YOURS = "picture"  # in the place of a set's name: the chosen picture alone
SMALL_PX = 64
FEW = 4  # pictures that are enough to tell whether a model's heads differ
FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Pictures:
    """What is measured over: the first pictures of a test set, or the chosen one, its name and its crop's place."""

    source: str
    count: int
    image: str = ""
    offset: cached.Offset = (0.5, 0.5)


@dataclass(frozen=True)
class Measure:
    """What is asked of every head."""

    name: str = "distance"  # or 'entropy', 'prefix'
    renormalise: bool = False


@dataclass(frozen=True, eq=False)
class Heads:
    """One measure of every head: its mean and its standard deviation over pictures, both (depth, heads)."""

    mean: FloatArray
    spread: FloatArray


def pictures(source: str, count: int) -> Pictures:
    """At most `count` pictures of a test set, or the chosen picture, which is one."""
    if source != YOURS:
        return Pictures(source, min(count, cached.examples(source)))
    now = selection.current()
    return Pictures(source, 1, now.image, now.offset)


def images(model: LoadedModel, seen: Pictures) -> NDArray[np.float32]:
    """(count, C, S, S) as the model reads them."""
    if seen.source == YOURS:
        return cached.prepared(seen.image, model.preparation, seen.offset).input[None]
    return prepare_batch(cached.dataset(seen.source).test_images[: seen.count], model.preparation)


def heads_of(found: AttentionDistances, measure: Measure) -> Heads:
    """The measure's mean and spread over pictures."""
    table = found.distance_px
    if measure.name == "entropy" and found.entropy_bits is not None:
        table = found.entropy_bits
    elif measure.name == "prefix":
        table = 100 * found.prefix_mass
    return Heads(table.mean(axis=0), table.std(axis=0))


def measure(
    model: LoadedModel, seen: Pictures, asked: Measure, with_mean: bool = False
) -> AttentionDistances:
    """Every head of a ViT, now; see `vitviz.probe.capture.attention_distances`."""
    entropy = asked.name == "entropy"
    # A small model by two threads that wait for each other takes many times as long where others keep the cores busy.
    alone = 1 if model.preparation.image_size <= SMALL_PX else None
    with threadpool_limits(alone, user_api="openmp"):
        return attention_distances(
            model.model, images(model, seen), asked.renormalise, entropy, with_mean=with_mean
        )


def of(model: LoadedModel, seen: Pictures, asked: Measure) -> AttentionDistances:
    """The same with the mean attention, kept."""
    return _of(model, f"{model.digest}@{model.step}", seen.image, seen, asked)


@cached.per_picture(shared=32, upload=8, spinner="Measuring every head …")
def _of(_model: LoadedModel, known: str, image: str, seen: Pictures, asked: Measure) -> AttentionDistances:
    return measure(_model, seen, asked, with_mean=True)


def opened(choice: ModelChoice, step: int) -> LoadedModel:
    """A model at a step for one look: a film's dozen would push what visits look at out of the models that are kept."""
    from vitviz.checkpoints import open_model

    path = catalogue.file_of(choice, step)
    return cached.loaded(choice, step) if path is None else open_model(path, step)


def mean_attention(found: AttentionDistances) -> NDArray[np.float32]:
    """(depth, heads, T, T), the mean over pictures.

    Raises:
        ValueError: if it was not kept.
    """
    if found.mean_attn is None:
        raise ValueError("the mean attention must have been kept, received none")
    return found.mean_attn


@dataclass(frozen=True)
class FirstSight:
    """How far apart a model's heads lie, over a few pictures like those that it learned from."""

    apart_px: float
    share: float  # of what an even head reads


def at_first_sight(choice: ModelChoice) -> FirstSight:
    """Of a shipped ViT; kept."""
    source = default_pictures(choice.trained_on, choice.preparation.in_chans)
    return _at_first_sight(choice, cached.identity(choice, choice.last_step), "", pictures(source, FEW))


@cached.per_picture(shared=32, upload=1)
def _at_first_sight(_choice: ModelChoice, known: str, image: str, seen: Pictures) -> FirstSight:
    model = opened(_choice, _choice.last_step)
    px = heads_of(measure(model, seen, Measure()), Measure()).mean
    size = model.preparation.image_size
    layout = model.layout(size, size)
    even = uniform_distance_px(layout.grid, layout.patch_px, layout.num_prefix_tokens)
    return FirstSight(float(np.ptp(px)), spread_of_heads(px, even))


def of_windows(model: LoadedModel, seen: Pictures) -> tuple[list[str], NDArray[np.float64]]:
    """Distances of every head of a Swin; see `vitviz.probe.capture.window_attention_distances`."""
    return _of_windows(model, f"{model.digest}@{model.step}", seen.image, seen)


@cached.per_picture(shared=32, upload=4, spinner="Measuring every head …")
def _of_windows(
    _model: LoadedModel, known: str, image: str, seen: Pictures
) -> tuple[list[str], NDArray[np.float64]]:
    return window_attention_distances(_model.model, images(_model, seen))


def gradient_reach(model: LoadedModel, names: list[str], seen: Pictures) -> NDArray[np.float64]:
    """Mean distance, in pixels, of the pixels that the central output of each layer reads."""
    return _reach(model, f"{model.digest}@{model.step}", tuple(names), seen.image, seen)


@cached.per_picture(shared=16, upload=4, spinner="Following the gradients …")
def _reach(
    _model: LoadedModel, known: str, names: tuple[str, ...], image: str, seen: Pictures
) -> NDArray[np.float64]:
    maps = gradient_maps(_model.model, images(_model, seen), names)
    return np.array([mean_reach_px(*maps[name]) for name in names])


def a_cnn(in_chans: int) -> ModelChoice:
    """A CNN for grey or for RGB pictures: a trained one where there is one."""
    found = [
        choice
        for choice in selection.models().values()
        if abilities(choice.config).receptive_field and choice.preparation.in_chans == in_chans
    ]
    return next((choice for choice in found if choice.trained_on is not None), found[0])
