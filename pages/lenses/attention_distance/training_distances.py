"""Attention distances at several snapshots of a training, measured in a background thread."""

import logging
from collections.abc import Callable

import streamlit as st

from pages.lenses.attention_distance import distances
from pages.lenses.attention_distance.distances import HeadMeasure, HeadStatistics, ImageSet
from pages.stores import parameter_history, shared_cache
from pages.stores.background_jobs import Background
from pages.stores.model_choice import ModelChoice

MOST_SNAPSHOTS = 12  # a live run stores forty
POLL_S = 0.7

_background = Background()


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


def load_training(
    choice: ModelChoice, shown_step: int, images: ImageSet, measure: HeadMeasure
) -> TrainingDistances:
    """Return a model's cached distances over its training; they grow while `draw` is shown."""
    weights = shared_cache.identify_weights(choice, choice.last_step)
    steps = parameter_history.select_steps(choice.steps, shown_step, MOST_SNAPSHOTS)
    return _load_training(choice, weights, steps, images, measure)


@shared_cache.per_image(shared=32, upload=4)
def _load_training(
    _choice: ModelChoice,
    weights: str,
    steps: tuple[int, ...],
    images: ImageSet,
    measure: HeadMeasure,
) -> TrainingDistances:
    def measure_step(step: int) -> HeadStatistics:
        model = distances.open_snapshot(_choice, step)
        return distances.summarise_heads(distances.measure_distances(model, images, measure), measure)

    return TrainingDistances(steps, measure_step)


def draw(training: TrainingDistances) -> None:
    """Draw the progress; rerun the page once every snapshot is measured."""
    if training.is_growing:
        st.fragment(_poll, run_every=POLL_S)(training)
    elif training.error:
        st.caption(training.error)


def _poll(training: TrainingDistances) -> None:
    if not training.is_growing:
        st.rerun()
    _background.request(training)
    count, total = len(training.heads), len(training.steps)
    st.progress(
        count / total,
        f"Measuring training: {count} of {total} snapshots. A slider over training steps will follow.",
    )
