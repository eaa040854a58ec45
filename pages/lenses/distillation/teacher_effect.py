"""Does a teacher help? Students beside their twins on growing pictures, and every way of teaching at two sizes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from vitviz.analysis.data_size import curves
from vitviz.analysis.teacher_effect import (
    Duel,
    describe_answers,
    describe_duels,
    describe_guess,
    describe_lessons,
    duels,
    lessons,
    tally,
    worth,
)
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, kept_result, told
from vitviz.plots.data_size import size_figure
from vitviz.plots.distillation import lessons_figure, worth_figure
from vitviz.text import gained, percent, plain, plural

SOFTNESS = (
    "'hard' learns the teacher's answers as hard labels, 'soft' its probabilities as soft labels: the larger the"
    " temperature τ, the more even they are, and the larger λ, the less do the true labels count. Pictures are"
    " augmented."
)
CHANCE = 0.1  # all sets of the grid have ten classes
ROLES = {"cnn": "Teacher, a CNN", "vit": "Twin, no teacher", "deit": "Student"}
GUESSES = {"wins": "the student", "loses": "its twin", "even": "no difference beyond the seeds"}
PAPER = """
In the paper (Touvron et al. 2021, *DeiT*, [table 3](https://arxiv.org/abs/2012.12877)) ViT-B/16 comes to 81.8 % on
ImageNet without a teacher and with soft labels, to 83.0 % with hard ones and one token, and to 83.4 % with hard ones
and both. Its teacher is a CNN. Cited, not measured here.
"""


MATH = r"""
Student and twin of one seed $s$ see the same pictures in the same order and make as many updates; $a_s$ and $b_s$
are the shares of the test pictures that they read right. The teacher is worth
$\Delta = \tfrac1n \sum_s (a_s - b_s)$. The student **wins by more than its spread** where

$$
\Delta > \max_s (a_s - b_s) - \min_s (a_s - b_s),
$$

and loses so where $-\Delta$ is larger than that. Of one seed there is no spread, so nothing is won or lost.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="distillation"):
    """The grid's set and half, who is guessed to be better, and the size at which ways of teaching are compared."""

    teaching_set: str
    teaching_augmented: bool
    teaching_guess: str
    teaching_pictures: int


def draw() -> None:
    """Both measurements and what they say; a sentence where nothing was measured."""
    grids = _grids()
    if not grids:
        st.markdown(
            ":gray[Nothing measured lies here. `python -m vitviz.experiment data_size_digits` measures it.]"
        )
        return
    name, augmented = _choose(grids)
    if _grid(name, grids[name], augmented):
        by_set = {DATASETS[each].title: duels(found.rows, augmented) for each, found in grids.items()}
        page.caption(tally(by_set, augmented))
    page.caption(_how(grids[name]))
    selection.link_to(
        "data",
        "All five models of this grid",
        **{"data.dataset": name, "data.augmented": widgets.encode(augmented)},
    )
    _ways(name)
    st.markdown(PAPER)
    page.drawers("distillation.worth", math=MATH, code=(duels, Duel), numbers=numbers)


def _grids() -> dict[str, Result]:
    return {name: found for name in GRIDS if (found := kept_result(f"data_size_{name}")) is not None}


def numbers() -> None:
    """Every pair of student and twin of every set and half, and the teacher beside them."""
    lines: list[dict[str, object]] = []
    for name, found in _grids().items():
        for augmented in (True, False):
            reached = {line.name: line for line in curves(found.rows, ROLES, augmented)}
            for duel in duels(found.rows, augmented):
                at = {of: line.at(duel.pictures) for of, line in reached.items()}
                lines.append(
                    {
                        "set": DATASETS[name].title,
                        "augmented": augmented,
                        "pictures": duel.pictures,
                        **{
                            words: None if (place := at.get(of)) is None else float(reached[of].mean[place])
                            for of, words in ROLES.items()
                        },
                        "student less twin, points": 100 * duel.mean,
                        "lowest": 100 * min(duel.gains),
                        "highest": 100 * max(duel.gains),
                        "seeds": len(duel.gains),
                        "by more than its spread": duel.verdict,
                    }
                )
    points = ("student less twin, points", "lowest", "highest")
    written: page.Written = {**dict.fromkeys(ROLES.values(), percent), **dict.fromkeys(points, gained)}
    st.dataframe(page.styled(lines, written), hide_index=True, placeholder=page.MISSING)


def _choose(grids: dict[str, Result]) -> tuple[str, bool]:
    """Draws the choice of a set, and of its half where student and twin were measured in both."""
    with page.row():
        name = widgets.segmented(
            Choice.key("teaching_set"), "Data set", tuple(grids), format_func=lambda key: DATASETS[key].title
        )
        halves = [half for half in (True, False) if duels(grids[name].rows, half)]
        lacks = "Disabled: student and twin were measured in one half of this grid alone."
        augmented = widgets.toggle(
            Choice.key("teaching_augmented"),
            "Augmented pictures",
            True,
            why_not=lacks if len(halves) < 2 else None,
        )
    return name, augmented if len(halves) == 2 else halves != [False]


def _grid(name: str, found: Result, augmented: bool) -> bool:
    """Teacher, student and twin over the number of pictures, and what the teacher is worth; False before a guess."""
    lines = curves(found.rows, ROLES, augmented)
    pairs = duels(found.rows, augmented)
    open_question = bool(pairs) and not _guessed(name, augmented, pairs[0])
    shown = [line for line in lines if line.name != "deit"] if open_question else lines
    accuracy = size_figure(
        shown, GRIDS[name].sizes, CHANCE, "accuracy on the test pictures", (), selection.mode()
    )
    if open_question or not pairs:
        page.figure(accuracy, "distillation.grid")
        page.caption("A guess shows the student." if open_question else describe_duels(pairs))
        return not open_question
    left, right = st.columns(2, gap="medium")
    answers = worth(found.rows, augmented)
    with left:
        page.figure(accuracy, "distillation.grid")
    with right:
        page.figure(worth_figure(answers, selection.mode()), "distillation.worth")
    page.caption(f"{describe_duels(pairs)} {describe_answers(answers)}".strip())
    page.caption(
        "Student and twin begin from one seed, see the same pictures, and make as many updates, each of which costs the"
        " student its teacher's answer too; the teacher is a CNN that saw the same pictures, its answers hard labels."
        " More than its spread: the mean of student less twin is larger than the distance between its best and its"
        " worst seed."
    )
    return True


def _guessed(name: str, augmented: bool, fewest: Duel) -> bool:
    """Asks who is better with the fewest pictures; once there is a guess says whether it was right."""
    options = {of: words for of, words in GUESSES.items() if of != "even" or fewest.verdict != "one"}
    return prediction_gate.first(
        Choice.key("teaching_guess"),
        (name, augmented),
        f"With {plural(fewest.pictures, 'picture')}, which is better?",
        options,
        lambda guess: f"You said {options[guess]}: {describe_guess(fewest, guess)}",
    )


def _ways(name: str) -> None:
    """Hard and soft lessons at one of two sizes, of this set or of one where they were measured."""
    kept = {each: known for each in (name, *GRIDS) if (known := kept_result(f"teaching_{each}")) is not None}
    if not kept:
        return
    here = next(iter(kept))
    stored = kept[here]
    found = lessons(stored.rows)
    sizes = tuple(sorted({lesson.pictures for lesson in found}))
    pictures = widgets.segmented(
        Choice.key("teaching_pictures"),
        f"Ways of teaching, {DATASETS[here].title}, training pictures",
        sizes,
        format_func=lambda size: f"{size:,}",
    )
    own = [lesson for lesson in found if lesson.pictures == pictures]
    spans = [(min(lesson.test), max(lesson.test)) for lesson in own]
    names = [lesson.name for lesson in own]
    page.figure(
        lessons_figure(names, [lesson.reached for lesson in own], spans, selection.mode()),
        "distillation.ways",
    )
    page.caption(f"{SOFTNESS} {describe_lessons(own)} {_how(stored)}")


def _how(stored: Result) -> str:
    missing = (
        f" {stored.missing} of {stored.missing + len(stored.rows)} trainings are missing."
        if stored.missing
        else ""
    )
    return f"Stored, not live; {plain(told(stored.made))}. `{stored.command}`{missing}"
