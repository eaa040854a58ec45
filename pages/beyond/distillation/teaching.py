"""Does a teacher help? Students beside their twins on growing pictures, and every way of teaching at two sizes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.shell import controls, nouns, page
from vitviz.analysis.teaching import describe_lessons, describe_worth, lessons, worth
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, ResultError, read_result, told
from vitviz.plots.distillation import lessons_figure, worth_figure
from vitviz.words import plain

LESSONS = "teaching_digits"
PAPER = """
In the paper (Touvron et al. 2021, *DeiT*, [table 3](https://arxiv.org/abs/2012.12877)) ViT-B/16 comes to 81.8 % on
ImageNet without a teacher and with soft labels, to 83.0 % with hard ones and one token, and to 83.4 % with hard ones
and both. Its teacher is a CNN. Cited, not measured here.
"""


@dataclass(frozen=True)
class Choice(controls.Chosen, page="distillation"):
    """The data set of the grid, and the size at which the ways of teaching are compared."""

    teaching_set: str
    teaching_pictures: int


def draw() -> None:
    """Both measurements and what they say; a sentence where nothing was measured."""
    st.subheader("Does a teacher help?", anchor=False)
    grids = {name: found for name in GRIDS if (found := _stored(f"data_size_{name}")) is not None}
    if not grids:
        st.markdown(
            ":gray[Nothing measured lies here. `python -m vitviz.experiment data_size_digits` measures it.]"
        )
        return
    name = controls.segmented(
        Choice.key("teaching_set"), "Data set", tuple(grids), format_func=lambda key: DATASETS[key].title
    )
    curves = worth(grids[name].rows, augmented=True)
    if curves:
        page.figure(worth_figure(curves, nouns.mode()), "distillation.worth")
        page.caption(
            f"{describe_worth(curves[0])} Student and twin begin from one seed, see the same augmented pictures,"
            " and are trained as long; the teacher is a CNN that saw the same pictures, its answers hard labels."
        )
    page.caption(_how(grids[name]))
    _ways()
    st.markdown(PAPER)


def _ways() -> None:
    """Hard and soft lessons, at one of two sizes."""
    stored = _stored(LESSONS)
    if stored is None:
        return
    found = lessons(stored.rows)
    sizes = tuple(sorted({lesson.pictures for lesson in found}))
    pictures = controls.segmented(
        Choice.key("teaching_pictures"),
        "Ways of teaching, Digits, training pictures",
        sizes,
        format_func=lambda size: f"{size:,}",
    )
    own = [lesson for lesson in found if lesson.pictures == pictures]
    spans = [(min(lesson.test), max(lesson.test)) for lesson in own]
    names = [lesson.name for lesson in own]
    page.figure(
        lessons_figure(names, [lesson.reached for lesson in own], spans, nouns.mode()), "distillation.ways"
    )
    page.caption(f"{describe_lessons(own)} {_how(stored)}")


def _how(stored: Result) -> str:
    missing = (
        f" {stored.missing} of {stored.missing + len(stored.rows)} trainings are missing."
        if stored.missing
        else ""
    )
    return f"Stored, not live; {plain(told(stored.made))}. `{stored.command}`{missing}"


def _stored(name: str) -> Result | None:
    try:
        return read_result(name)
    except ResultError:
        return None
