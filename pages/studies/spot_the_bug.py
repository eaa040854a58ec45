"""Ask which line of a code listing has the bug, next to the curve of its training."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from pages.train.experiments import bug as bug_section
from pages.train.experiments import stored_results

from pages.controls import widgets
from pages.frame import page
from pages.views.race import draw_race
from vitviz.analysis.one_change import describe_bug
from vitviz.experiments.bugs import BUGS, Bug
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.lessons.experiment_measures import measure_bug_gain
from vitviz.plots.one_change import payload
from vitviz.text import plural

DATASETS = ("digits", "shapes")
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class PuzzleControls(widgets.ControlValues, page="experiments"):
    """The selected puzzle, counted from 1."""

    puzzle: int


def draw() -> None:
    """Draw a puzzle: the curve, the code, the user's line, then the solution with its cost."""
    puzzles = tuple(BUGS)
    with page.row():
        number = widgets.segmented(PuzzleControls.key("puzzle"), "Code", tuple(range(1, len(puzzles) + 1)))
    name = puzzles[number - 1]
    bug = BUGS[name]
    measured = [
        (dataset, stored) for dataset in DATASETS if (stored := read_result_if_any(f"one_slip_{dataset}"))
    ]
    if measured:
        _draw_curves(measured, name)
    lines = [f"`{line.replace('    ', NO_BREAK * 4)}`" for line in bug.lines]
    chosen = st.radio(
        f"One of these {plural(len(lines), 'line')} is wrong. Which?",
        range(len(lines)),
        index=None,
        format_func=lines.__getitem__,
        key=f"experiments._line_{name}",
    )
    if chosen is None:
        page.caption("Select a line to see the solution and the bug's cost.")
        return
    _draw_solution(bug, int(chosen))
    for dataset, stored in measured:
        sides, _ = bug_section.load_pair(stored, name)
        if len(sides) == 2:
            page.caption(f"On {dataset}: {describe_bug(sides[1], sides[0])}")


def _draw_curves(measured: list[tuple[str, Result]], name: str) -> None:
    """Draw the results with and without the bug, on the dataset that separates them most."""
    pairs = [(dataset, stored) for dataset, stored in measured if measure_bug_gain(stored, name) is not None]
    if not pairs:
        return
    dataset, stored = max(pairs, key=lambda pair: _rank_separation(pair[1], name))
    sides, rows = bug_section.load_pair(stored, name)
    note = f"test images of {dataset}, evaluated once at the end"
    message = payload(sides, bug_section.CHANCE[dataset], float(stored.settings["epochs"]), note)
    draw_race(message, key="experiments.spot_view")
    page.provenance(stored_results.describe_origin(stored, rows))


def _rank_separation(stored: Result, name: str) -> tuple[bool, float]:
    """Return a sort key: first whether all seeds agree on a bug, then the size of its effect in points."""
    gain = measure_bug_gain(stored, name)
    return (False, 0.0) if gain is None else (gain.clear, abs(gain.mean))


def _draw_solution(bug: Bug, chosen: int) -> None:
    right = chosen in bug.wrong
    line = bug.lines[bug.wrong[0]].strip()
    correction = f"It should read `{bug.right.strip()}`." if bug.right else "It should not be there."
    solution = f"Line {bug.wrong[0] + 1}, `{line}`. {correction} {bug.title}: {bug.why}"
    if right:
        st.success(f"Correct. {solution}", icon=":material/check:")
    else:
        st.warning(f"Not line {chosen + 1}. {solution}", icon=":material/close:")
