"""Study the effect of a teacher: students and twins over training images, and methods of distillation."""

from dataclasses import replace
from functools import partial

from pages.controls import widgets
from pages.frame import page
from pages.questions.prediction_gate import Prediction, ask_highest, ask_options
from pages.selection import selection
from pages.studies import data_size_results
from pages.studies.data_size_results import Grid
from pages.studies.study import Choice, Evidence, Study, Table, View, create_curve_table
from vitviz.analysis.data_size import group_curves
from vitviz.analysis.distillation import (
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
from vitviz.experiments.result_file import Result, read_result_if_any
from vitviz.plots.data_size import size_figure
from vitviz.plots.distillation import lessons_figure, teacher_gain_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plural

METHOD_NOTES = (
    "'hard' uses the teacher's predicted classes as hard labels, 'soft' its probabilities as soft labels. A higher"
    " temperature τ flattens them; a higher λ reduces the weight of the true labels. Images are augmented."
)
ACCURACY, GAINS, METHODS = "accuracy", "gains", "methods"
PICTURES = {ACCURACY: "Test accuracy", GAINS: "Student minus twin", METHODS: "Methods of distillation"}
ROLES = {"cnn": "Teacher, a CNN", "vit": "Twin, no teacher", "deit": "Student"}
PREDICTIONS = {"wins": "the student", "loses": "its twin", "even": "no clear difference"}
GUESS, METHOD = "distillation.teaching_guess", "distillation.teaching_method"


def list_augmentations(dataset: str, *_: object) -> dict[bool, str]:
    """Return if student and twin were trained with, and without, augmentation on a dataset."""
    rows = data_size_results.load_grids()[dataset].rows
    return {
        half: title for half, title in ((True, "augmented"), (False, "plain")) if compute_duels(rows, half)
    }


def load_methods(dataset: str) -> Result | None:
    return read_result_if_any(f"teaching_{dataset}")


def list_pictures(dataset: str) -> dict[str, str]:
    measured = load_methods(dataset) is not None
    return {name: title for name, title in PICTURES.items() if measured or name != METHODS}


def list_sizes(dataset: str, _picture: str) -> dict[int, str]:
    """Return the numbers of images for which methods were compared; 0 stands for none."""
    methods = load_methods(dataset)
    sizes = {0} if methods is None else {method.pictures for method in group_lessons(methods.rows)}
    return {size: f"{size:,}" for size in sorted(sizes)}


def build(mode: Mode, dataset: str, picture: str, size: int, augmented: bool) -> View:
    """Return accuracies, their differences, or methods of distillation."""
    methods = load_methods(dataset)
    if picture == METHODS and methods is not None:
        return _build_methods(dataset, size, methods, mode)
    grid = Grid(dataset, augmented)
    duels = compute_duels(grid.stored.rows, augmented)
    effects = compute_teacher_gains(grid.stored.rows, augmented)
    lines = group_curves(grid.stored.rows, ROLES, augmented)
    view = View(
        picture=size_figure(lines, GRIDS[dataset].sizes, data_size_results.CHANCE, "test accuracy", (), mode),
        caption=describe_duels(duels),
        prediction=_ask_winner(grid, duels[0]) if duels else None,
        evidence=(data_size_results.create_evidence(grid),),
        notes="Student and twin share seed, images and number of updates. The teacher, a CNN trained on the same"
        " images, provides hard labels. 'More than the seed spread': the mean difference exceeds its range over seeds.",
        table=create_curve_table(lines, "images", "teacher.csv"),
        below=partial(_draw_link, grid),
    )
    if picture == ACCURACY:
        return view
    return replace(
        view,
        picture=teacher_gain_figure(effects, mode) if effects else None,
        caption=f"{describe_duels(duels)} {describe_answers(effects)}".strip(),
    )


def _ask_winner(grid: Grid, fewest: Duel) -> Prediction:
    options = {key: text for key, text in PREDICTIONS.items() if key != "even" or fewest.verdict != "one"}
    return ask_options(
        GUESS,
        (grid.dataset, grid.augmented),
        f"With {plural(fewest.pictures, 'image')}, which is better?",
        options,
        lambda guess: f"Your prediction: {options[guess]}. {describe_duel(fewest)}",
    )


def _draw_link(grid: Grid) -> None:
    selection.link_to(
        "studies",
        "Compare all five models of this experiment",
        **{
            "studies.study": "data_size",
            "data.dataset": grid.dataset,
            "data.augmented": widgets.encode_value(grid.augmented),
        },
    )


def _build_methods(dataset: str, size: int, stored: Result, mode: Mode) -> View:
    methods = [method for method in group_lessons(stored.rows) if method.pictures == size]
    ends = [(min(method.test), max(method.test)) for method in methods]
    names, means = [method.name for method in methods], [method.mean_test for method in methods]
    return View(
        picture=lessons_figure(names, means, ends, mode),
        caption=describe_lessons(methods),
        prediction=ask_highest(
            METHOD,
            (dataset, size),
            f"With {plural(size, 'image')}, which method has the highest test accuracy?",
            dict(zip(names, means, strict=True)),
            percent,
        ),
        evidence=(Evidence(stored, stored.where(pictures=size), DATASETS[dataset].title),),
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
    data_size_results.EXPERIMENTS,
    build=build,
    choices=(
        Choice("distillation.teaching_set", "Dataset", data_size_results.list_datasets),
        Choice("distillation.teaching_shown", "Figure", list_pictures),
        Choice(
            "distillation.teaching_pictures",
            "Training images",
            list_sizes,
            is_drawn=lambda _dataset, picture: picture == METHODS,
        ),
        Choice(
            "distillation.teaching_augmented",
            "Augmented images",
            list_augmentations,
            True,
            widgets.toggle,
            why_not="Disabled: student and twin were trained in only one of the two ways.",
            is_drawn=lambda _dataset, picture, _size: picture != METHODS,
        ),
    ),
    keys=(GUESS, METHOD),
    math=page.read_math(__file__),
    code=(compute_duels, Duel),
)
