"""Exercises page: each task with its files, and a figure of the correct output."""

from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.exercises import solution_figures
from pages.frame import page, registry
from pages.selection import selection
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise, create_notebook, zip_exercises
from vitviz.text import plural


def choose_exercise() -> Exercise:
    select_column, download_column, notebook_column = st.columns([4, 1, 1], vertical_alignment="bottom")
    order = list(BY_SLUG)
    with select_column:
        slug = widgets.select(
            "exercises.task",
            "Exercise",
            order,
            format_func=lambda slug: f"{order.index(slug) + 1}  {BY_SLUG[slug].title}",
        )
    with download_column:
        label = f"Download all {len(EXERCISES)}"
        page.download(
            label, partial(zip_exercises, tuple(order)), "exercises.zip", "exercises.all", stretch=True
        )
    with notebook_column:
        make = partial(create_notebook, tuple(order))
        page.download("All as a notebook", make, "exercises.ipynb", "exercises.all_notebook", stretch=True)
    return BY_SLUG[slug]


def draw_task(exercise: Exercise) -> None:
    st.markdown(f"**{exercise.task}**")
    page.source(exercise.call)
    st.markdown(f"The tests detect these common mistakes: *{'; '.join(exercise.mistakes)}*.")
    with st.container(horizontal=True, vertical_alignment="center"):
        page.download(
            "Download task and tests",
            partial(zip_exercises, (exercise.slug,)),
            f"{exercise.slug}.zip",
            "exercises.one",
        )
        page.download(
            "Download notebook",
            partial(create_notebook, (exercise.slug,)),
            f"{exercise.slug}.ipynb",
            "exercises.notebook",
        )
        selection.link_to(exercise.page, f"Open page: {registry.BY_SLUG[exercise.page].title}")
    page.source("cd exercises/" + exercise.slug + " && python -m pytest -q")


def draw_files(exercise: Exercise) -> None:
    for label, key, text in (
        ("Task", "task", exercise.files()["task.py"]),
        ("Tests", "tests", exercise.files()["test_task.py"]),
        ("Solution", "solution", exercise.solution()),
    ):
        drawer = st.expander(label, key=f"exercises.drawer.{key}", on_change="rerun")
        if drawer.open:
            with drawer:
                page.source(text, height=480)


page.header("exercises")
exercise = choose_exercise()
task_column, figure_column = st.columns([1, 1], gap="large")
with task_column:
    draw_task(exercise)
with figure_column:
    st.markdown("**Output of a correct solution**")
    page.caption(solution_figures.FIGURES[exercise.slug]())
draw_files(exercise)
page.caption(
    f"{plural(len(EXERCISES), 'exercise')} from the lecture notebooks. Run them on your computer with Python, torch and"
    " pytest; this server never runs your code."
)
