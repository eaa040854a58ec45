"""Exercises page: each task with its files, and a figure of the correct output."""

from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.exercises import solution_figures
from pages.frame import page, registry
from pages.selection import selection
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise, create_notebook, zip_exercises
from vitviz.text import plural


def draw_downloads(slugs: tuple[str, ...], name: str, zip_label: str, notebook_label: str) -> None:
    page.download(zip_label, partial(zip_exercises, slugs), f"{name}.zip", f"exercises.{name}.zip")
    page.download(notebook_label, partial(create_notebook, slugs), f"{name}.ipynb", f"exercises.{name}.ipynb")


def draw_task(exercise: Exercise) -> None:
    st.markdown(f"**{exercise.task}**")
    page.source(exercise.call)
    st.markdown(f"The tests detect these common mistakes: *{'; '.join(exercise.mistakes)}*.")
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_downloads((exercise.slug,), exercise.slug, "Download task and tests", "Download notebook")
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


with page.header("exercises"), st.container(width=320):
    titles = {slug: f"{number}  {one.title}" for number, (slug, one) in enumerate(BY_SLUG.items(), 1)}
    exercise = BY_SLUG[widgets.select("exercises.task", "Exercise", titles, label_visibility="collapsed")]
figure_column, task_column = st.columns([2, 1], gap="medium")
with figure_column:
    st.markdown("**Output of a correct solution**")
    page.caption(solution_figures.FIGURES[exercise.slug]())
with task_column:
    draw_task(exercise)
draw_files(exercise)
with st.container(horizontal=True):
    draw_downloads(tuple(BY_SLUG), "exercises", f"Download all {len(BY_SLUG)}", "All as a notebook")
page.caption(
    f"{plural(len(EXERCISES), 'exercise')} from the lecture notebooks. Run them on your computer with Python, torch and"
    " pytest; this server never runs your code."
)
