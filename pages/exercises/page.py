"""Exercises page: a tile per task, the opened one's operation as it moves, its common mistakes and its files."""

from functools import partial

import streamlit as st

from pages.controls import downloads, listing, widgets
from pages.exercises import solution_figures
from pages.frame import page
from pages.selection import selection
from pages.stores import registry, session
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.exercises import BY_SLUG, EXERCISES, Exercise, create_notebook, zip_exercises
from vitviz.plots.blob import pack

KEY, TILES = "exercises.task", "exercises.tiles"
_tiles = register(__file__, "tiles")


def draw_notebook(slugs: tuple[str, ...], name: str, label: str) -> None:
    downloads.download(label, partial(create_notebook, slugs), f"{name}.ipynb", f"exercises.{name}.ipynb")


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
    listing.source(exercise.call)
    files = partial(zip_exercises, (exercise.slug,))
    key = f"exercises.{exercise.slug}.zip"
    with st.container(horizontal=True):
        downloads.download("Download task and tests", files, f"{exercise.slug}.zip", key, type="primary")
        draw_notebook((exercise.slug,), exercise.slug, "Notebook")
    st.caption(f"Run the tests with `python -m pytest -q` in the folder `exercises/{exercise.slug}`.")
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
    selection.link_to(exercise.page, f"Open page: {registry.BY_SLUG[exercise.page].title}")


def draw_files(exercise: Exercise) -> None:
    for label, key, text in (
        ("Task", "task", exercise.files()["task.py"]),
        ("Tests", "tests", exercise.files()["test_task.py"]),
        ("Solution", "solution", exercise.solution()),
    ):
        drawer = st.expander(label, key=f"exercises.drawer.{key}", on_change="rerun")
        if drawer.open:
            with drawer:
                listing.source(text, height=480)


page.header("exercises")
exercise = choose_exercise()
figure_column, task_column = st.columns([2, 1], gap="medium")
with figure_column:
    caption = solution_figures.FIGURES[exercise.slug]()
    page.caption(caption)
with task_column:
    draw_task(exercise)
draw_files(exercise)
with st.container(horizontal=True):
    every = tuple(BY_SLUG)
    label = f"Download all {len(BY_SLUG)}"
    downloads.download(label, partial(zip_exercises, every), "exercises.zip", "exercises.exercises.zip")
    draw_notebook(every, "exercises", "All as a notebook")
