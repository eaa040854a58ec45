"""Attention distances of every head over a set of images, cached per model, step and image set, and over a training."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.selection import selection
from pages.stores import background_jobs, catalogue, parameter_history, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.distance import AttentionDistances, spread_of_heads, uniform_distance_px
from vitviz.analysis.image_means import compute_half_width
from vitviz.data.datasets import default_pictures, find_note
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.training_moments import TrainingMoments
from vitviz.probe import capture, gradients
from vitviz.probe.image_sets import RANDOM_DRAWS, draw_untrained

REACH_FUNCTIONS = (gradients.image_gradient_maps, gradients.mean_reach_px)
SELECTED_IMAGE = "picture"  # takes the place of a dataset's name in a link
SMALL_PX, PHOTO_PX = 64, 128
CONTROL_IMAGES = 8  # with random weights the draws differ more than the images
SMALL_TOKENS = 100  # larger models start with few images and without their training
FEW_IMAGES = 4  # enough to tell whether a model's heads differ
FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class MeasuredImages:
    """The first `count` test images of a dataset, or the selected image with the offset of its crop."""

    source: str
    count: int
    image: str = ""
    offset: shared_cache.Offset = (0.5, 0.5)


@dataclass(frozen=True)
class HeadMeasure:
    """The quantity that is measured for every head: 'distance', 'entropy' or 'prefix'."""

    name: str = "distance"
    renormalise: bool = False


@dataclass(frozen=True, eq=False)
class HeadStatistics:
    """A measure of every head: mean over images, half of its 95 % interval, and standard deviation, (depth, heads)."""

    mean: FloatArray
    half_width: FloatArray
    deviation: FloatArray


@dataclass(frozen=True, eq=False)
class RecordedDistances:
    """Statistics of the heads at the moments of a recorded training, and how it differs from the model's own."""

    moments: TrainingMoments
    heads: list[HeadStatistics]
    note: str


MOST_SNAPSHOTS = 12  # a live run stores forty
POLL_S = 0.7

_background = background_jobs.Background()


class TrainingDistances:
    """Statistics of the heads by training step; `advance` fills them in a thread while pages read them."""

    def __init__(self, steps: tuple[int, ...], measure: Callable[[int], HeadStatistics]) -> None:
        self.steps, self._measure = steps, measure
        self.heads: dict[int, HeadStatistics] = {}  # by step
        self.error = ""

    @property
    def is_complete(self) -> bool:
        return len(self.heads) == len(self.steps)

    @property
    def is_growing(self) -> bool:
        return not self.is_complete and not self.error

    def advance(self) -> bool:
        """Measure the next snapshot; return True if another one remains."""
        for step in [step for step in self.steps if step not in self.heads][:1]:
            try:
                self.heads[step] = self._measure(step)
            except Exception:  # the run or the dataset was deleted in the meantime
                logging.getLogger(__name__).warning("step %d cannot be measured", step, exc_info=True)
                self.error = f"The slider over training is missing: step {step:,} could not be measured."
        return self.is_growing


def select_images(source: str, count: int) -> MeasuredImages:
    """Return at most `count` test images of a dataset, or the selected image."""
    if source != SELECTED_IMAGE:
        return MeasuredImages(source, min(count, shared_cache.count_test_images(source)))
    selected = selection.get_current()
    return MeasuredImages(source, 1, selected.image, selected.offset)


def prepare_images(model: LoadedModel, images: MeasuredImages) -> NDArray[np.float32]:
    """Return the model inputs (count, C, S, S)."""
    if images.source == SELECTED_IMAGE:
        return shared_cache.prepare_image(images.image, model.preparation, images.offset).input[None]
    return prepare_batch(
        shared_cache.load_dataset(images.source).test_images[: images.count], model.preparation
    )


def summarise_heads(distances: AttentionDistances, measure: HeadMeasure) -> HeadStatistics:
    """Return the measure's mean and standard deviation over images."""
    table = distances.distance_px
    if measure.name == "entropy" and distances.entropy_bits is not None:
        table = distances.entropy_bits
    elif measure.name == "prefix":
        table = 100 * distances.prefix_mass
    return summarise_table(table)


def summarise_table(table: FloatArray) -> HeadStatistics:
    """Return the statistics of values (images, depth, heads); one image has no interval."""
    count = len(table)
    if count == 1:
        return HeadStatistics(table[0], np.zeros_like(table[0]), np.zeros_like(table[0]))
    deviation = table.std(axis=0, ddof=1)
    return HeadStatistics(table.mean(axis=0), compute_half_width(1.0, count) * deviation, deviation)


def measure_distances(
    model: LoadedModel, images: MeasuredImages, measure: HeadMeasure, with_mean: bool = False
) -> AttentionDistances:
    """Measure every head of a ViT without caching; see `vitviz.probe.capture.attention_distances`."""
    entropy = measure.name == "entropy"
    # Two threads that wait for each other slow a small model down many times while other users keep the cores busy.
    threads = 1 if max(model.preparation.image_shape) <= SMALL_PX else None
    with capture.limit_pools(threads, user_api="openmp"):
        return capture.attention_distances(
            model.model, prepare_images(model, images), measure.renormalise, entropy, with_mean=with_mean
        )


@shared_cache.per_image(shared=32, upload=8, spinner="Measuring every head …")
def load_distances(model: LoadedModel, images: MeasuredImages, measure: HeadMeasure) -> AttentionDistances:
    """Return the cached distances of every head of a ViT, with the mean attention."""
    return measure_distances(model, images, measure, with_mean=True)


@shared_cache.per_image(shared=32, upload=8, spinner="Measuring ten draws of random weights …")
def load_control(model: LoadedModel, images: MeasuredImages, measure: HeadMeasure) -> NDArray[np.float64]:
    """Return the measure with every draw of random weights, (draws, depth, heads), over at most a few images."""
    few = limit_control(model, images)
    draws = [draw_untrained(model, draw) for draw in range(RANDOM_DRAWS)]
    if abilities(model.config).windows:
        inputs = prepare_images(model, few)
        return np.stack(
            [capture.window_attention_distances(drawn.model, inputs)[1].mean(axis=0) for drawn in draws]
        )
    return np.stack(
        [summarise_heads(measure_distances(drawn, few, measure), measure).mean for drawn in draws]
    )


def limit_control(model: LoadedModel, images: MeasuredImages) -> MeasuredImages:
    """Return the images on which random weights are measured."""
    return replace(images, count=min(images.count, CONTROL_IMAGES if has_small_images(model) else 1))


def has_small_images(model: LoadedModel) -> bool:
    """Return True if a set of images is measured within a second or so."""
    return max(model.preparation.image_shape) < PHOTO_PX


def is_small(model: LoadedModel) -> bool:
    """Return True if the model has few tokens and so is fast."""
    return model.layout(*model.preparation.image_shape).num_tokens <= SMALL_TOKENS


def open_snapshot(choice: ModelChoice, step: int) -> LoadedModel:
    """Open a model without caching it: a dozen snapshots would push other users' models out of the cache."""
    from vitviz.checkpoints import open_model

    path = catalogue.find_weights_file(choice, step)
    return shared_cache.load_model(choice, step) if path is None else open_model(path, step)


@shared_cache.shared(max_entries=32)
def measure_spread(_choice: ModelChoice, weights: str) -> tuple[float, float]:
    """Measure a stored ViT over a few images of its training data's kind.

    Returns:
        the difference between the longest and the shortest mean distance of its heads, as a share of the distance
        under uniform attention and in px.
    """
    images = select_images(default_pictures(_choice.trained_on, _choice.preparation.in_chans), FEW_IMAGES)
    model = open_snapshot(_choice, _choice.last_step)
    means_px = summarise_heads(measure_distances(model, images, HeadMeasure()), HeadMeasure()).mean
    layout = model.layout(*model.preparation.image_shape)
    uniform_px = uniform_distance_px(layout.grid, layout.patch_px, layout.num_prefix_tokens)
    return spread_of_heads(means_px, uniform_px), float(np.ptp(means_px))


@shared_cache.per_image(shared=32, upload=4, spinner="Measuring every head …")
def load_window_distances(
    model: LoadedModel, images: MeasuredImages
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the cached distances of every head of a Swin.

    See `vitviz.probe.capture.window_attention_distances`.
    """
    return capture.window_attention_distances(model.model, prepare_images(model, images))


@shared_cache.per_image(shared=16, upload=4, spinner="Computing gradients …")
def load_reach(model: LoadedModel, names: tuple[str, ...], images: MeasuredImages) -> NDArray[np.float64]:
    """Return the mean distance in pixels of the pixels that a layer's central output depends on, (layers, images)."""
    maps = gradients.image_gradient_maps(model.model, prepare_images(model, images), names)
    return np.array(
        [[gradients.mean_reach_px(one, maps[name][1]) for one in maps[name][0]] for name in names]
    )


def select_cnn(in_chans: int) -> ModelChoice:
    """Return a CNN for greyscale or RGB images, trained if there is one."""
    cnns = [
        choice
        for choice in selection.list_models().values()
        if abilities(choice.config).receptive_field and choice.preparation.in_chans == in_chans
    ]
    return next((choice for choice in cnns if choice.trained_on is not None), cnns[0])


def load_training(
    choice: ModelChoice, shown_step: int, images: MeasuredImages, measure: HeadMeasure
) -> TrainingDistances:
    """Return a model's cached distances over its training; they grow while `draw_training` is shown."""
    weights = shared_cache.identify_weights(choice, choice.last_step)
    steps = parameter_history.select_steps(choice.steps, shown_step, MOST_SNAPSHOTS)
    return _load_training(choice, weights, steps, images, measure)


@shared_cache.per_image(shared=32, upload=4)
def _load_training(
    _choice: ModelChoice,
    weights: str,
    steps: tuple[int, ...],
    images: MeasuredImages,
    measure: HeadMeasure,
) -> TrainingDistances:
    def measure_step(step: int) -> HeadStatistics:
        model = open_snapshot(_choice, step)
        return summarise_heads(measure_distances(model, images, measure), measure)

    return TrainingDistances(steps, measure_step)


def load_recorded(
    choice: ModelChoice, step: int, images: MeasuredImages, measure: HeadMeasure, heads: HeadStatistics
) -> RecordedDistances | None:
    """Return a shipped model's recorded distances with those of the shown step; None for other images or measures."""
    growth = parameter_history.find_recorded(choice, step)
    pictures = default_pictures(choice.trained_on, choice.preparation.in_chans)
    if growth is None or images != MeasuredImages(pictures, growth.images) or measure != HeadMeasure():
        return None
    # Recorded deviations divide by the number of images; an interval needs one less.
    deviations = growth.distance_sd * (growth.images / max(growth.images - 1, 1)) ** 0.5
    half_widths = compute_half_width(1.0, growth.images) * deviations
    recorded = [*map(HeadStatistics, growth.distance_px, half_widths, deviations)]
    moments = parameter_history.list_moments(growth)
    if not growth.is_shipped or step not in moments.steps:
        moments, place = moments.insert(step, parameter_history.get_epoch(choice, step), growth.is_shipped)
        recorded.insert(place, heads)
    note = parameter_history.describe_recorded(choice, growth)
    measured_on = growth.image.partition(":")[0]
    if measured_on != pictures:
        note = f"{note} It is measured on {growth.images} images of {find_note(measured_on).title}."
    return RecordedDistances(moments, recorded, note)


def draw_training(training: TrainingDistances) -> None:
    """Draw the progress; rerun the page once every snapshot is measured."""
    if training.is_growing:
        st.fragment(_poll_training, run_every=POLL_S)(training)
    elif training.error:
        st.caption(training.error)


def _poll_training(training: TrainingDistances) -> None:
    if not training.is_growing:
        st.rerun()
    _background.request(training)
    count, total = len(training.heads), len(training.steps)
    st.progress(
        count / total,
        f"Measuring training: {count} of {total} snapshots. A slider over training steps will follow.",
    )
