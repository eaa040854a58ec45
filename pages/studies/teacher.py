"""Study the effect of a teacher: students and twins over training images, and methods of distillation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from pages.controls import widgets
from pages.questions.prediction_gate import Prediction, ask_highest
from pages.selection import selection
from pages.studies import data_grids
from pages.studies.study import Evidence, Study, Table, View, create_curve_table
from vitviz.analysis.data_size import group_curves
from vitviz.analysis.teacher_effect import (
    Duel,
    compute_duels,
    compute_teacher_gains,
    describe_answers,
    describe_duel,
    describe_duels,
    describe_lessons,
    group_lessons,
)
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.plots.data_size import size_figure
from vitviz.plots.distillation import lessons_figure, teacher_gain_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plural

MATH = r"""
Student and twin of one seed $s$ see the same images in the same order for as many updates; $a_s$ and $b_s$ are their
test accuracies. The effect of the teacher is $\Delta = \tfrac1n \sum_s (a_s - b_s)$. The student **wins by more
than its spread** if

$$
\Delta > \max_s (a_s - b_s) - \min_s (a_s - b_s),
$$

and loses if $-\Delta$ is larger than that. One seed has no spread, so it neither wins nor loses.
"""
METHOD_NOTES = (
    "'hard' uses the teacher's predicted classes as hard labels, 'soft' its probabilities as soft labels. A higher"
    " temperature τ flattens them; a higher λ reduces the weight of the true labels. Images are augmented."
)
ACCURACY, GAINS, METHODS = "accuracy", "gains", "methods"
PICTURES = {ACCURACY: "Test accuracy", GAINS: "Student minus twin", METHODS: "Methods of distillation"}
ROLES = {"cnn": "Teacher, a CNN", "vit": "Twin, no teacher", "deit": "Student"}
PREDICTIONS = {"wins": "the student", "loses": "its twin", "even": "no difference beyond the seeds"}


@dataclass(frozen=True)
class TeacherControls(widgets.ControlValues, page="distillation"):
    """Dataset, augmentation, a key of `PICTURES`, images for which methods are compared, and the predictions."""

    teaching_set: str
    teaching_augmented: bool
    teaching_shown: str
    teaching_pictures: int
    teaching_guess: str
    teaching_method: str


@dataclass(frozen=True)
class TeacherSelection:
    """The dataset, augmentation, picture, and number of images for which methods are compared."""

    dataset: str
    augmented: bool
    shown: str
    pictures: int = 0


def list_halves(name: str) -> list[bool]:
    """Return with which augmentation student and twin were trained on a dataset."""
    rows = data_grids.load_grids()[name].rows
    return [half for half in (True, False) if compute_duels(rows, half)]


def load_methods(name: str) -> Result | None:
    """Load the methods of distillation that were compared on a dataset."""
    return read_result_if_any(f"teaching_{name}")


def get_example() -> TeacherSelection | None:
    grids = data_grids.load_grids()
    return TeacherSelection(next(iter(grids)), True, ACCURACY) if grids else None


def choose() -> TeacherSelection | None:
    grids = data_grids.load_grids()
    if not grids:
        return None
    name = widgets.segmented(
        TeacherControls.key("teaching_set"),
        "Dataset",
        tuple(grids),
        format_func=lambda key: DATASETS[key].title,
    )
    methods = load_methods(name)
    shown = widgets.segmented(
        TeacherControls.key("teaching_shown"),
        "Figure",
        tuple(PICTURES) if methods else (ACCURACY, GAINS),
        format_func=PICTURES.__getitem__,
    )
    if methods is not None and shown == METHODS:
        pictures = widgets.segmented(
            TeacherControls.key("teaching_pictures"),
            "Training images",
            tuple(sorted({method.pictures for method in group_lessons(methods.rows)})),
            format_func=lambda count: f"{count:,}",
        )
        return TeacherSelection(name, True, shown, pictures)
    halves = list_halves(name)
    missing = None if len(halves) > 1 else "Student and twin were trained in one of both ways only."
    augmented = widgets.toggle(
        TeacherControls.key("teaching_augmented"), "Augmented images", True, why_not=missing
    )
    return TeacherSelection(name, augmented if len(halves) == 2 else halves != [False], shown)


def build(selected: TeacherSelection, mode: Mode) -> View:
    """Return accuracies, their differences, or methods of distillation."""
    methods = load_methods(selected.dataset)
    if selected.shown == METHODS and methods is not None:
        return _build_methods(selected, methods, mode)
    grid = data_grids.GridControls(selected.dataset, selected.augmented)
    duels = compute_duels(grid.stored.rows, selected.augmented)
    effects = compute_teacher_gains(grid.stored.rows, selected.augmented)
    lines = group_curves(grid.stored.rows, ROLES, selected.augmented)
    view = View(
        picture=size_figure(
            lines, GRIDS[selected.dataset].sizes, data_grids.CHANCE, "test accuracy", (), mode
        ),
        caption=describe_duels(duels),
        prediction=_ask_winner(selected, duels[0]) if duels else None,
        evidence=(data_grids.create_evidence(grid),),
        notes="Student and twin share seed, images and number of updates. The teacher, a CNN of the same images,"
        " provides hard labels. 'More than the seed spread': the mean difference exceeds its range over the seeds.",
        table=create_curve_table(lines, "images", "teacher.csv"),
        below=partial(_draw_link, selected),
    )
    if selected.shown == ACCURACY:
        return view
    return replace(
        view,
        picture=teacher_gain_figure(effects, mode) if effects else None,
        caption=f"{describe_duels(duels)} {describe_answers(effects)}".strip(),
    )


def _ask_winner(selected: TeacherSelection, fewest: Duel) -> Prediction:
    """Ask which model is better with the fewest images."""
    options = {key: text for key, text in PREDICTIONS.items() if key != "even" or fewest.verdict != "one"}
    return Prediction(
        TeacherControls.key("teaching_guess"),
        (selected.dataset, selected.augmented),
        f"With {plural(fewest.pictures, 'image')}, which is better?",
        options,
        lambda guess: f"Your prediction: {options[guess]}. {describe_duel(fewest)}",
    )


def _draw_link(selected: TeacherSelection) -> None:
    selection.link_to(
        "studies",
        "Compare all five models of this experiment",
        **{
            "studies.study": "data_size",
            "data.dataset": selected.dataset,
            "data.augmented": widgets.encode_value(selected.augmented),
        },
    )


def _build_methods(selected: TeacherSelection, stored: Result, mode: Mode) -> View:
    methods = [method for method in group_lessons(stored.rows) if method.pictures == selected.pictures]
    ends = [(min(method.test), max(method.test)) for method in methods]
    names, means = [method.name for method in methods], [method.mean_test for method in methods]
    return View(
        picture=lessons_figure(names, means, ends, mode),
        caption=describe_lessons(methods),
        prediction=ask_highest(
            TeacherControls.key("teaching_method"),
            (selected.dataset, selected.pictures),
            f"With {plural(selected.pictures, 'image')}, which method has the highest test accuracy?",
            dict(zip(names, means, strict=True)),
            percent,
        ),
        evidence=(
            Evidence(stored, stored.where(pictures=selected.pictures), DATASETS[selected.dataset].title),
        ),
        notes=METHOD_NOTES,
        table=Table(
            {
                "method": names,
                "test accuracy": means,
                "validation accuracy": [method.mean_validation for method in methods],
            },
            dict.fromkeys(("test accuracy", "validation accuracy"), percent),
            f"{stored.name}.csv",
        ),
    )


STUDY = Study(
    "teacher",
    "Does a teacher help?",
    "How much more accurate does a teacher make a ViT?",
    4,
    data_grids.EXPERIMENTS,
    choose=choose,
    build=build,
    example=get_example,
    controls=(TeacherControls,),
    math=MATH,
    code=(compute_duels, Duel),
)
