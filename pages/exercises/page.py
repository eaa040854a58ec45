"""Exercises to take away: what each asks, its files, and the picture that a right solution gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.exercises import solution_figures
from pages.frame import page, registry
from pages.selection import selection
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise, zipped
from vitviz.text import plural


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="exercises"):
    """Which exercise is open, by its slug."""

    task: str


def draw_choice() -> Exercise:
    """The list of tasks, in their order, and all files at once."""
    left, right_side = st.columns([3, 1], vertical_alignment="bottom")
    order = list(BY_SLUG)
    with left:
        slug = widgets.select(
            Choice.key("task"),
            "Exercise",
            order,
            format_func=lambda one: f"{order.index(one) + 1}  {BY_SLUG[one].title}",
        )
    with right_side:
        name = f"All {len(EXERCISES)}, zip"
        page.download(name, partial(zipped, tuple(order)), "exercises.zip", "exercises.all", stretch=True)
    return BY_SLUG[slug]


def draw_task(chosen: Exercise) -> None:
    """What is asked, what the tests name, and the files."""
    st.markdown(f"**{chosen.asks}**")
    page.source(chosen.call)
    slips = "; ".join(chosen.slips)
    st.markdown(f"Its tests fail on the usual slips and name them: *{slips}*.")
    with st.container(horizontal=True, vertical_alignment="center"):
        page.download(
            "Task and tests, zip", partial(zipped, (chosen.slug,)), f"{chosen.slug}.zip", "exercises.one"
        )
        selection.link_to(chosen.page, f"The same on the page: {registry.BY_SLUG[chosen.page].title}")
    page.source("cd exercises/" + chosen.slug + " && python -m pytest -q")


def draw_drawers(chosen: Exercise) -> None:
    """The files to read, and a solution, which a learner opens last."""
    for label, key, text in (
        ("The task, to be filled in", "task", chosen.files()["task.py"]),
        ("The tests", "tests", chosen.files()["test_task.py"]),
        ("A solution", "solution", chosen.solution()),
    ):
        drawer = st.expander(label, key=f"exercises.drawer.{key}", on_change="rerun")
        if drawer.open:
            with drawer:
                page.source(text, height=480)


page.header("Exercises", registry.BY_SLUG["exercises"].question)
task = draw_choice()
left, stage = st.columns([1, 1], gap="large")
with left:
    draw_task(task)
with stage:
    st.markdown("**The picture that a right solution gives**")
    page.caption(solution_figures.draw(task.slug))
draw_drawers(task)
page.caption(
    f"{plural(len(EXERCISES), 'exercise')}, from the lectures' notebooks. They run on your own machine, with Python,"
    " torch and pytest: this server never runs what you write."
)
