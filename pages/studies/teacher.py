"""Measure the effect of a teacher: students and twins over training images, and methods of distillation."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from vitviz.analysis.data_size import group_curves
from vitviz.analysis.teacher_effect import (
    Duel,
    compute_duels,
    compute_teacher_gains,
    describe_answers,
    describe_duel,
    describe_duels,
    describe_lessons,
    describe_tally,
    group_lessons,
)
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, describe_provenance, read_result_if_any
from vitviz.plots.data_size import size_figure
from vitviz.plots.distillation import lessons_figure, teacher_gain_figure
from vitviz.text import gained, percent, plain, plural

METHODS = (
    "'hard' uses the teacher's predicted classes as hard labels, 'soft' its probabilities as soft labels. A higher"
    " temperature τ flattens them; a higher λ reduces the weight of the true labels. Images are augmented."
)
CHANCE = 0.1  # all datasets of the experiment have ten classes
ROLES = {"cnn": "Teacher, a CNN", "vit": "Twin, no teacher", "deit": "Student"}
PREDICTIONS = {"wins": "the student", "loses": "its twin", "even": "no difference beyond the seeds"}
PAPER = """
Published results (Touvron et al. 2021, *DeiT*, [table 3](https://arxiv.org/abs/2012.12877)): ViT-B/16 reaches 81.8 % on
ImageNet without a teacher and with soft distillation, 83.0 % with hard distillation and one token, and 83.4 % with hard
distillation and both tokens. The teacher is a CNN.
"""

MATH = r"""
Student and twin of one seed $s$ see the same images in the same order for as many updates; $a_s$ and $b_s$ are their
test accuracies. The effect of the teacher is $\Delta = \tfrac1n \sum_s (a_s - b_s)$. The student **wins by more
than its spread** if

$$
\Delta > \max_s (a_s - b_s) - \min_s (a_s - b_s),
$$

and loses if $-\Delta$ is larger than that. One seed has no spread, so it neither wins nor loses.
"""


@dataclass(frozen=True)
class TeacherControls(widgets.ControlValues, page="distillation"):
    """Dataset, augmentation, a key of `PREDICTIONS`, and the number of images for which methods are compared."""

    teaching_set: str
    teaching_augmented: bool
    teaching_guess: str
    teaching_pictures: int


def draw() -> None:
    experiments = _load_experiments()
    if not experiments:
        st.markdown(":gray[Results are missing. Run `python -m vitviz.experiment data_size_digits`.]")
        return
    name, augmented = _draw_controls(experiments)
    if _draw_curves(name, experiments[name], augmented):
        by_title = {
            DATASETS[key].title: compute_duels(stored.rows, augmented) for key, stored in experiments.items()
        }
        page.caption(describe_tally(by_title, augmented))
    selection.link_to(
        "data",
        "Compare all five models of this experiment",
        **{"data.dataset": name, "data.augmented": widgets.encode_value(augmented)},
    )
    methods = _draw_methods(name)
    st.markdown(PAPER)
    page.provenance("  \n".join(map(_describe_source, filter(None, (experiments[name], methods)))))
    page.drawers("distillation.worth", math=MATH, code=(compute_duels, Duel), numbers=draw_table)


def _load_experiments() -> dict[str, Result]:
    return {name: stored for name in GRIDS if (stored := read_result_if_any(f"data_size_{name}")) is not None}


def draw_table() -> None:
    lines: list[dict[str, object]] = []
    for name, stored in _load_experiments().items():
        for augmented in (True, False):
            by_model = {curve.name: curve for curve in group_curves(stored.rows, ROLES, augmented)}
            for duel in compute_duels(stored.rows, augmented):
                indices = {model: curve.find_size(duel.pictures) for model, curve in by_model.items()}
                lines.append(
                    {
                        "dataset": DATASETS[name].title,
                        "augmented": augmented,
                        "images": duel.pictures,
                        **{
                            role: None
                            if (i := indices.get(model)) is None
                            else float(by_model[model].mean[i])
                            for model, role in ROLES.items()
                        },
                        "student − twin, points": 100 * duel.mean,
                        "lowest": 100 * min(duel.gains),
                        "highest": 100 * max(duel.gains),
                        "seeds": len(duel.gains),
                        "by more than its spread": duel.verdict,
                    }
                )
    points = ("student − twin, points", "lowest", "highest")
    formats: page.Formatters = {**dict.fromkeys(ROLES.values(), percent), **dict.fromkeys(points, gained)}
    st.dataframe(page.style_table(lines, formats), hide_index=True, placeholder=page.MISSING)


def _draw_controls(experiments: dict[str, Result]) -> tuple[str, bool]:
    """Draw the controls; augmentation can be toggled if student and twin were trained with and without."""
    with page.row():
        name = widgets.segmented(
            TeacherControls.key("teaching_set"),
            "Dataset",
            tuple(experiments),
            format_func=lambda key: DATASETS[key].title,
        )
        halves = [half for half in (True, False) if compute_duels(experiments[name].rows, half)]
        augmented = widgets.toggle(
            TeacherControls.key("teaching_augmented"),
            "Augmented images",
            True,
            why_not=None if len(halves) > 1 else "Student and twin were trained in one of both ways only.",
        )
    return name, augmented if len(halves) == 2 else halves != [False]


def _draw_curves(name: str, experiment: Result, augmented: bool) -> bool:
    """Draw accuracy and the effect of the teacher; return False before a prediction."""
    lines = group_curves(experiment.rows, ROLES, augmented)
    pairs = compute_duels(experiment.rows, augmented)
    hidden = bool(pairs) and not _ask_winner(name, augmented, pairs[0])
    visible = [line for line in lines if line.name != "deit"] if hidden else lines
    accuracy = size_figure(visible, GRIDS[name].sizes, CHANCE, "test accuracy", (), selection.get_theme())
    if hidden or not pairs:
        page.figure(accuracy, "distillation.grid")
        page.caption("Predict to see the student." if hidden else describe_duels(pairs))
        return not hidden
    left, right = st.columns(2, gap="medium")
    effects = compute_teacher_gains(experiment.rows, augmented)
    with left:
        page.figure(accuracy, "distillation.grid")
    with right:
        page.figure(teacher_gain_figure(effects, selection.get_theme()), "distillation.worth")
    page.caption(f"{describe_duels(pairs)} {describe_answers(effects)}".strip())
    page.caption(
        "Student and twin share seed, images and number of updates. The teacher, a CNN trained on the same images,"
        " provides hard labels. 'More than its spread': the mean difference exceeds its range over the seeds."
    )
    return True


def _ask_winner(name: str, augmented: bool, fewest: Duel) -> bool:
    """Ask which model is better with the fewest images; return True if the student may be shown."""
    options = {key: text for key, text in PREDICTIONS.items() if key != "even" or fewest.verdict != "one"}
    return prediction_gate.require_prediction(
        TeacherControls.key("teaching_guess"),
        (name, augmented),
        f"With {plural(fewest.pictures, 'image')}, which is better?",
        options,
        lambda prediction: f"Your prediction: {options[prediction]}. {describe_duel(fewest)}",
    )


def _draw_methods(name: str) -> Result | None:
    """Draw methods of distillation on this dataset, or on another that has results; return the experiment."""
    stored = ((key, read_result_if_any(f"teaching_{key}")) for key in (name, *GRIDS))
    dataset, experiment = next((pair for pair in stored if pair[1]), (name, None))
    if experiment is None:
        return None
    methods = group_lessons(experiment.rows)
    images = widgets.segmented(
        TeacherControls.key("teaching_pictures"),
        f"Methods of distillation on {DATASETS[dataset].title}, training images",
        tuple(sorted({method.pictures for method in methods})),
        format_func=lambda count: f"{count:,}",
    )
    methods = [method for method in methods if method.pictures == images]
    ranges = [(min(method.test), max(method.test)) for method in methods]
    names, means = [method.name for method in methods], [method.mean_test for method in methods]
    page.figure(lessons_figure(names, means, ranges, selection.get_theme()), "distillation.ways")
    page.caption(f"{METHODS} {describe_lessons(methods)}")
    return experiment


def _describe_source(experiment: Result) -> str:
    missing = (
        f" {experiment.missing} of {experiment.missing + len(experiment.rows)} runs are missing."
        if experiment.missing
        else ""
    )
    return f"Stored results, {plain(describe_provenance(experiment.made))}. `{experiment.command}`{missing}"
