"""Spot the mistake: code with one bug and the curve that it gives; which line is it?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.train.experiments import bug as slip_section
from pages.train.experiments import stored_results
from pages.views.race import draw_race as race_view
from vitviz.analysis.one_change import describe_slip
from vitviz.experiments.bugs import BUGS, Bug
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.lessons.experiment_measures import measure_bug_gain
from vitviz.plots.one_change import payload
from vitviz.text import plural

SETS = ("digits", "shapes")
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class PuzzleControls(widgets.ControlValues, page="experiments"):
    """The selected puzzle, counted from 1."""

    puzzle: int


def draw() -> None:
    """A puzzle: the curve, the code, the user's line, and then the answer with its cost."""
    puzzles = tuple(BUGS)
    with page.row():
        number = widgets.segmented(PuzzleControls.key("puzzle"), "Code", tuple(range(1, len(puzzles) + 1)))
    name = puzzles[number - 1]
    slip = BUGS[name]
    measured = [(dataset, found) for dataset in SETS if (found := read_result_if_any(f"one_slip_{dataset}"))]
    if measured:
        _draw_curves(measured, name)
    lines = [f"`{line.replace('    ', NO_BREAK * 4)}`" for line in slip.lines]
    chosen = st.radio(
        f"One of these {plural(len(lines), 'line')} is wrong. Which?",
        range(len(lines)),
        index=None,
        format_func=lines.__getitem__,
        key=f"experiments._line_{name}",
    )
    if chosen is None:
        page.caption("Choose a line to see the answer and the bug's cost.")
        return
    _draw_solution(slip, int(chosen))
    for dataset, found in measured:
        sides, _ = slip_section.load_pair(found, name)
        if len(sides) == 2:
            page.caption(f"On {dataset}: {describe_slip(sides[1], sides[0])}")


def _draw_curves(measured: list[tuple[str, Result]], name: str) -> None:
    """Return the results with and without the bug, on the dataset that separates them most."""
    both = [(dataset, found) for dataset, found in measured if measure_bug_gain(found, name) is not None]
    if not both:
        return
    dataset, found = max(both, key=lambda one: _rank_separation(one[1], name))
    sides, rows = slip_section.load_pair(found, name)
    note = f"{dataset}' test images, read once at the end"
    message = payload(sides, slip_section.CHANCE[dataset], float(found.settings["epochs"]), note)
    race_view(message, key="experiments.spot_view")
    page.provenance(stored_results.describe_origin(found, rows))


def _rank_separation(found: Result, name: str) -> tuple[bool, float]:
    """Return True if all seeds agree about a bug, and by how many points it changes the model."""
    by = measure_bug_gain(found, name)
    return (False, 0.0) if by is None else (by.clear, abs(by.mean))


def _draw_solution(slip: Bug, chosen: int) -> None:
    right = chosen in slip.wrong
    line = slip.lines[slip.wrong[0]].strip()
    mended = f"It should read `{slip.right.strip()}`." if slip.right else "It should not be there."
    words = f"Line {slip.wrong[0] + 1}, `{line}`. {mended} {slip.title}: {slip.why}"
    if right:
        st.success(f"Correct. {words}", icon=":material/check:")
    else:
        st.warning(f"Not line {chosen + 1}. {words}", icon=":material/close:")
