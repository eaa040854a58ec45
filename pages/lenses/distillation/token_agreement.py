"""What does the student take over? Teacher, both heads, both combinations and the twin before the same pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.stores import cached, runs
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import student_tokens as analysis
from vitviz.data.datasets import data_title, default_pictures
from vitviz.models.abilities import as_vit
from vitviz.text import percent, plain, plural

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run

PICTURES = 200
SHOWN = 12
_PX = 64
TEACHER, CLS, DIST, MEAN, SUM, TWIN = (
    "Teacher",
    "[CLS] head",
    "[DIST] head",
    "Both, mean of the logits",
    "Both, sum of the softmaxes",
    "Twin without a teacher",
)
EARLY = " The student is at step {step:,}, the others at their last."
_TEACHING = ("distill_from", "distillation", "distillation_weight", "distillation_temperature")
Decisions = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="distillation"):
    """Whether the pictures are asked about, and which of them are shown."""

    asked: bool
    case: str


def twin_in_run(student: Run) -> Run | None:
    """The model of a student's run that differs from it in its teacher and the token for it alone; None: no such."""
    own = student.config()
    body = replace(as_vit(own.model), distilled=False)
    for other in runs.models_of(student.whole):
        config = other.config()
        alone = replace(own.train, **{name: getattr(config.train, name) for name in _TEACHING})
        if config.train.distill_from is None and (config.model, config.train) == (body, alone):
            return other
    return None


def draw(student: ModelChoice, step: int, teacher: ModelChoice | None, twin: ModelChoice | None) -> None:
    """The question, and where it is asked who agrees with whom and the pictures that tell."""
    st.subheader("What does the student take over?", anchor=False)
    dataset = default_pictures(student.trained_on, student.preparation.in_chans)
    data, title = cached.dataset(dataset), data_title(dataset)
    if data.test_labels is None or len(data.classes) != student.config.num_classes:
        page.caption("No pictures of this student's classes are on this server.")
        return
    asked = widgets.toggle(
        Choice.key("asked"),
        f"Ask every voice about {title}",
        help=f"The first {min(PICTURES, len(data.test_images))} test pictures, computed here.",
    )
    if not asked:
        return
    decisions, labels = answers(student, step, teacher, twin, dataset)
    shown = page.styled(rows(decisions, labels), _WRITTEN)
    st.dataframe(shown, hide_index=True, placeholder=page.MISSING, key="distillation.taken")
    early = step != student.last_step and (TEACHER in decisions or TWIN in decisions)
    page.caption(describe(decisions, labels) + (EARLY.format(step=step) if early else ""))
    _draw_case(dataset, decisions, labels)


def answers(
    student: ModelChoice, step: int, teacher: ModelChoice | None, twin: ModelChoice | None, dataset: str
) -> tuple[Decisions, NDArray[np.int64]]:
    """What every voice decides on the first test pictures of a set, and what they are."""
    found: Decisions = {}
    if teacher is not None:
        found[TEACHER] = _logits(teacher, None, dataset, ("logits",))["logits"].argmax(axis=1)
    heads = _logits(student, step, dataset, ("logits_cls", "logits_dist"))
    both = analysis.combined(heads["logits_cls"], heads["logits_dist"])
    found |= {
        CLS: heads["logits_cls"].argmax(axis=1),
        DIST: heads["logits_dist"].argmax(axis=1),
        MEAN: both["mean"].argmax(axis=1),
        SUM: both["sum"].argmax(axis=1),
    }
    if twin is not None:
        found[TWIN] = _logits(twin, None, dataset, ("logits",))["logits"].argmax(axis=1)
    labels = np.asarray(cached.dataset(dataset).labels_of("test")[:PICTURES], np.int64)
    return found, labels


def _logits(
    choice: ModelChoice, step: int | None, dataset: str, names: tuple[str, ...]
) -> dict[str, NDArray[np.floating[Any]]]:
    loaded = cached.loaded(choice, step)
    return _kept(loaded.digest, choice, step, dataset, names)


@cached.shared(most=24, spinner="Asking the models …")
def _kept(
    digest: str, choice: ModelChoice, step: int | None, dataset: str, names: tuple[str, ...]
) -> dict[str, NDArray[np.floating[Any]]]:
    from vitviz.data.preparation import prepare_batch
    from vitviz.probe.capture import capture

    loaded = cached.loaded(choice, step)
    inputs = prepare_batch(cached.dataset(dataset).test_images[:PICTURES], loaded.preparation)
    found = capture(loaded.model, inputs, record=names, batch_size=50)
    return {name: found.logits if name == "logits" else found[name] for name in names}


_WRITTEN = dict.fromkeys(("Accuracy", "Decides like the teacher", "Repeats its mistakes"), percent)


def rows(decisions: Decisions, labels: NDArray[np.int64]) -> dict[str, list[object]]:
    """A line for every voice: how much is right, and how much is the teacher's."""
    teacher = decisions.get(TEACHER)
    others = [None if name == TEACHER else made for name, made in decisions.items()]
    return {
        "Voice": list(decisions),
        "Accuracy": [float((made == labels).mean()) for made in decisions.values()],
        "Decides like the teacher": [
            None if teacher is None or made is None else float((made == teacher).mean()) for made in others
        ],
        "Repeats its mistakes": [
            None
            if teacher is None or made is None or not (teacher != labels).any()
            else analysis.follows_teacher(made, teacher, labels)
            for made in others
        ],
    }


def describe(decisions: Decisions, labels: NDArray[np.int64]) -> str:
    """What the two combinations are worth, and whether the student agrees with its teacher more than the twin does."""
    count = len(labels)
    mean, total = decisions[MEAN], decisions[SUM]
    apart = int((mean != total).sum())
    said = [
        f"Of {plural(count, 'picture')} the mean of the logits, which is this app's and timm's answer, gets"
        f" {percent(float((mean == labels).mean()))} right, the paper's sum of the softmaxes"
        f" {percent(float((total == labels).mean()))}; they decide {plural(apart, 'picture')} differently."
    ]
    teacher, twin = decisions.get(TEACHER), decisions.get(TWIN)
    if teacher is not None and twin is not None:
        like, alone = (float((made == teacher).mean()) for made in (mean, twin))
        said.append(
            f"The student decides like its teacher on {percent(like)}, the twin that had none on {percent(alone)}."
        )
    if teacher is not None and (teacher == labels).all():
        said.append(
            "The teacher has every one right: to decide like it is to be right, and no mistake can be repeated."
        )
    return " ".join(said)


def _draw_case(dataset: str, decisions: Decisions, labels: NDArray[np.int64]) -> None:
    """The pictures of one case, with what they are and what teacher and student say."""
    found = analysis.cases(decisions.get(TEACHER), decisions[MEAN], decisions[CLS], decisions[DIST], labels)
    case = widgets.select(
        Choice.key("case"),
        "Pictures on which",
        tuple(found),
        format_func=lambda name: f"{name} ({int(found[name].sum())})",
    )
    chosen = np.flatnonzero(found[case])
    if not len(chosen):
        page.caption("There is none among these pictures.")
        return
    data = cached.dataset(dataset)
    voices = (
        (CLS, DIST)
        if case == "[CLS] and [DIST] differ"
        else tuple(v for v in (TEACHER, MEAN) if v in decisions)
    )
    names = {TEACHER: "teacher", MEAN: "student", CLS: "[CLS]", DIST: "[DIST]"}
    words = [
        f"{data.classes[labels[i]]}: "
        + ", ".join(f"{names[v]} {data.classes[decisions[v][i]]}" for v in voices)
        for i in chosen[:SHOWN]
    ]
    pictures = [data.test_images[i] for i in chosen[:SHOWN]]
    scale = max(1, 2 * _PX // pictures[0].shape[0])  # so that a browser does not blur small pictures
    st.image(
        [np.broadcast_to(one, (*one.shape[:2], 3)).repeat(scale, 0).repeat(scale, 1) for one in pictures],
        caption=[plain(text) for text in words],
        alt=words,
        width=2 * _PX,
    )
    if len(chosen) > SHOWN:
        page.caption(f"The first {SHOWN} of {len(chosen)}.")
