"""Draw what a lens says of a model over a set of images, or the button that measures it."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.controls import task_progress
from pages.frame import page
from pages.stores import tasks
from vitviz.analysis.image_means import ImageMeans
from vitviz.data.datasets import find_note
from vitviz.experiments import image_sets
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.text import plural

_REQUESTED = "image_sets._requested"  # session key: the measures that this session started
THIS_IMAGE = "this image"


def draw(
    measure: str, model: LoadedModel, describe: Callable[[ImageMeans], str], subject: str = THIS_IMAGE
) -> ImageMeans | None:
    """Draw a caption over a set of images if it is measured, or else a button; return the measured means.

    Args:
        measure: a name in `vitviz.experiments.image_sets.NEEDS`.
        describe: makes the caption.
        subject: what the figure above shows, to which its caption is limited without the measure.
    """
    if not image_sets.is_meaningful(measure, abilities(model.config)):
        return None
    means = image_sets.find_stored(measure, model.digest)
    if means is None:
        means = _measure(measure, model, subject)
    if means is not None:
        page.caption(describe(means))
    return means


def describe_set(means: ImageMeans) -> str:
    """Return '200 images of Digits'."""
    if means.source == image_sets.PHOTOS:
        return plural(means.images, "photograph")
    return f"{plural(means.images, 'image')} of {find_note(means.source).title}"


def _measure(measure: str, model: LoadedModel, subject: str) -> ImageMeans | None:
    source = image_sets.choose_source(model.trained_on, model.preparation.in_chans)
    count = image_sets.choose_count(max(model.preparation.image_shape))
    key = ("image set", measure, model.digest, source, count)
    finished: ImageMeans | None = tasks.find_result(key)
    if finished is not None:
        return finished
    requested: set[tuple[object, ...]] = st.session_state.setdefault(_REQUESTED, set())
    if key not in requested:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Measured on {subject} only.", width="content")
            st.button(
                f"Measure on {count} images",
                key=f"image_sets.{measure}",
                icon=":material/bar_chart:",
                help=f"Uses images of {find_note(source).title}; it may take minutes.",
                on_click=requested.add,
                args=(key,),
            )
        return None
    task = tasks.start_task(key, partial(image_sets.measure, model, measure, source, count))
    results = task_progress.wait_for_results([task], f"Measuring on {count} images")
    if task.failed:
        requested.discard(key)  # the button offers it again
    return results[0] if results else None
