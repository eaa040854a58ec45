"""Exercises page: a tile per task, the opened one's operation as it moves, its common mistakes and its files."""

from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.exercises import solution_figures
from pages.frame import page, registry
from pages.selection import selection
from pages.stores import session
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise, create_notebook, zip_exercises
from vitviz.plots.blob import pack

KEY, TILES = "exercises.task", "exercises.tiles"
_tiles = register(__file__, "tiles")


def draw_downloads(slugs: tuple[str, ...], name: str, zip_label: str, notebook_label: str) -> None:
    page.download(zip_label, partial(zip_exercises, slugs), f"{name}.zip", f"exercises.{name}.zip")
    page.download(notebook_label, partial(create_notebook, slugs), f"{name}.ipynb", f"exercises.{name}.ipynb")


def choose_exercise() -> Exercise:
    """Draw a tile per exercise and return the one that is open."""
    opened = str(read_events(TILES).get("open") or "")
    if opened in BY_SLUG:
        widgets.set_control(KEY, opened)
    slug = widgets.resolve_option(KEY, tuple(BY_SLUG))
    widgets.store_value(KEY, slug)
    solved = load_solved()
    tiles = [(exercise.slug, exercise.title, exercise.slug in solved) for exercise in EXERCISES]
    _tiles(pack({"exercises": tiles, "selected": slug}), key=TILES, triggers=("open",))
    return BY_SLUG[slug]


def load_solved() -> set[str]:
    """Return the exercises that the user has marked as solved; their tests run on the user's own machine."""
    solved = session.get_current().notes.setdefault("exercises", set())
    assert isinstance(solved, set)
    return solved


def toggle_solved(slug: str) -> None:
    load_solved().symmetric_difference_update({slug})


def draw_task(exercise: Exercise) -> None:
    st.subheader(exercise.title, anchor=False)
    st.markdown(exercise.task)
    page.source(exercise.call)
    is_solved = exercise.slug in load_solved()
    st.button(
        "Solved" if is_solved else "My solution passes",
        key="exercises.solved",
        icon=":material/check:" if is_solved else ":material/task_alt:",
        on_click=toggle_solved,
        args=(exercise.slug,),
        help="Press again to undo."
        if is_solved
        else "Run the tests on your machine, then mark the exercise here.",
    )
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


page.header("exercises")
exercise = choose_exercise()
figure_column, task_column = st.columns([2, 1], gap="medium")
with figure_column:
    caption = solution_figures.FIGURES[exercise.slug]()
    if exercise.slug not in solution_figures.OPERATIONS:  # an operation's view draws them
        st.markdown(" · ".join(f":material/close: {mistake}" for mistake in exercise.mistakes))
    page.caption(caption)
with task_column:
    draw_task(exercise)
draw_files(exercise)
with st.container(horizontal=True):
    draw_downloads(tuple(BY_SLUG), "exercises", f"Download all {len(BY_SLUG)}", "All as a notebook")
