"""Compare a student's predictions and mistakes with its teacher's and its twin's."""

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.distillation import captions
from pages.lenses.distillation.captions import CLS, DIST, MEAN, SUM, TEACHER, TWIN, PredictedClasses
from pages.stores import runs, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import distillation as analysis
from vitviz.data.datasets import data_title, default_pictures
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.abilities import as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import capture
from vitviz.text import percent, plain
from vitviz.training.run_directory import Run

IMAGES = 200
MOST_SHOWN = 12
_PX = 64
_TEACHING = ("distill_from", "distillation", "distillation_weight", "distillation_temperature")


def find_twin(student: Run) -> Run | None:
    """Return the model of a student's run that lacks only the teacher and the distillation token."""
    config = student.config()
    model = replace(as_vit(config.model), distilled=False)
    for other in runs.list_models(student.root_run):
        twin = other.config()
        train = replace(config.train, **{name: getattr(twin.train, name) for name in _TEACHING})
        if twin.train.distill_from is None and (twin.model, twin.train) == (model, train):
            return other
    return None


def draw(student: ModelChoice, step: int, teacher: ModelChoice | None, twin: ModelChoice | None) -> None:
    st.subheader("What does the student learn from its teacher?", anchor=False)
    dataset = default_pictures(student.trained_on, student.preparation.in_chans)
    loaded, title = shared_cache.load_dataset(dataset), data_title(dataset)
    if loaded.test_labels is None or len(loaded.classes) != student.config.num_classes:
        page.caption("Test images of this student's classes are missing.")
        return
    count = min(IMAGES, len(loaded.test_images))
    if not widgets.toggle(
        "distillation.asked",
        f"Compare predictions on {title}",
        help=f"Computed now on the first {count} test images.",
    ):
        return
    predictions, labels = predict_classes(student, step, teacher, twin, dataset)
    table = page.style_table(build_columns(predictions, labels), _FORMATS)
    st.dataframe(table, hide_index=True, placeholder=page.MISSING, key="distillation.taken")
    intermediate = step != student.last_step and (TEACHER in predictions or TWIN in predictions)
    page.caption(
        captions.describe_agreement(predictions, labels)
        + (f" The student is at step {step:,}, the other models at their last." if intermediate else "")
    )
    _draw_case(dataset, predictions, labels)


def predict_classes(
    student: ModelChoice, step: int, teacher: ModelChoice | None, twin: ModelChoice | None, dataset: str
) -> tuple[PredictedClasses, NDArray[np.int64]]:
    """Return each classifier's predicted classes of a dataset's first test images, and the labels."""
    predictions: PredictedClasses = {}
    if teacher is not None:
        predictions[TEACHER] = _predict(teacher, dataset)
    heads = _compute_logits(shared_cache.load_model(student, step), dataset, ("logits_cls", "logits_dist"))
    both = analysis.combine_heads(heads["logits_cls"], heads["logits_dist"])
    predictions |= {
        CLS: heads["logits_cls"].argmax(axis=1),
        DIST: heads["logits_dist"].argmax(axis=1),
        MEAN: both["mean"].argmax(axis=1),
        SUM: both["sum"].argmax(axis=1),
    }
    if twin is not None:
        predictions[TWIN] = _predict(twin, dataset)
    labels = np.asarray(shared_cache.load_dataset(dataset).labels_of("test")[:IMAGES], np.int64)
    return predictions, labels


def _predict(choice: ModelChoice, dataset: str) -> NDArray[np.int64]:
    return np.asarray(
        _compute_logits(shared_cache.load_model(choice), dataset, ("logits",))["logits"].argmax(axis=1)
    )


@shared_cache.shared(max_entries=24, spinner="Computing predictions …")
def _compute_logits(
    model: LoadedModel, dataset: str, names: tuple[str, ...]
) -> dict[str, NDArray[np.floating[Any]]]:
    inputs = prepare_batch(shared_cache.load_dataset(dataset).test_images[:IMAGES], model.preparation)
    activations = capture(model.model, inputs, record=names, batch_size=50)
    return {name: activations.logits if name == "logits" else activations[name] for name in names}


_FORMATS = dict.fromkeys(("Accuracy", "Agrees with the teacher", "Repeats the teacher's mistakes"), percent)


def build_columns(predictions: PredictedClasses, labels: NDArray[np.int64]) -> dict[str, list[object]]:
    teacher = predictions.get(TEACHER)
    others = [None if name == TEACHER else classes for name, classes in predictions.items()]
    return {
        "Classifier": list(predictions),
        "Accuracy": [float((classes == labels).mean()) for classes in predictions.values()],
        "Agrees with the teacher": [
            None if teacher is None or classes is None else float((classes == teacher).mean())
            for classes in others
        ],
        "Repeats the teacher's mistakes": [
            None
            if teacher is None or classes is None or not (teacher != labels).any()
            else analysis.repeated_mistake_share(classes, teacher, labels)
            for classes in others
        ],
    }


def _draw_case(dataset: str, predictions: PredictedClasses, labels: NDArray[np.int64]) -> None:
    cases = analysis.select_cases(
        predictions.get(TEACHER), predictions[MEAN], predictions[CLS], predictions[DIST], labels
    )
    titles = {name: f"{name} ({int(images.sum())})" for name, images in cases.items()}
    case = widgets.select("distillation.case", "Images where", titles)
    indices = np.flatnonzero(cases[case])
    if not len(indices):
        page.caption("None of these images.")
        return
    loaded = shared_cache.load_dataset(dataset)
    names = {TEACHER: "teacher", MEAN: "student", CLS: "[CLS]", DIST: "[DIST]"}
    classifiers = (
        (CLS, DIST)
        if case == "[CLS] and [DIST] differ"
        else tuple(name for name in (TEACHER, MEAN) if name in predictions)
    )
    texts = [
        f"{loaded.classes[labels[i]]}: "
        + ", ".join(f"{names[c]} {loaded.classes[predictions[c][i]]}" for c in classifiers)
        for i in indices[:MOST_SHOWN]
    ]
    images = [loaded.test_images[i] for i in indices[:MOST_SHOWN]]
    scale = max(1, 2 * _PX // images[0].shape[0])  # A browser would blur small images.
    st.image(
        [np.broadcast_to(x, (*x.shape[:2], 3)).repeat(scale, 0).repeat(scale, 1) for x in images],
        caption=[plain(text) for text in texts],
        alt=texts,
        width=2 * _PX,
    )
    if len(indices) > MOST_SHOWN:
        page.caption(f"The first {MOST_SHOWN} of {len(indices)}.")
