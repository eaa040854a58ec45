"""Spot the mistake: code with one slip and the curve that it gives; which line is it?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.train.experiments import bug as slip_section
from pages.train.experiments import stored_results
from pages.views.race import race as race_view
from vitviz.analysis.one_change import describe_slip
from vitviz.experiments.bugs import SLIPS, Slip
from vitviz.experiments.result import Result, kept_result
from vitviz.lessons.experiment_measures import slip_gain
from vitviz.plots.one_change import payload
from vitviz.text import plural

SETS = ("digits", "shapes")
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="experiments"):
    """Which of the puzzles, counted from 1."""

    puzzle: int


def draw() -> None:
    """A puzzle: the curve, the code, the visitor's line, and then the answer with its cost."""
    puzzles = tuple(SLIPS)
    with page.row():
        number = widgets.segmented(Choice.key("puzzle"), "Code", tuple(range(1, len(puzzles) + 1)))
    name = puzzles[number - 1]
    slip = SLIPS[name]
    measured = [(dataset, found) for dataset in SETS if (found := kept_result(f"one_slip_{dataset}"))]
    if measured:
        _curves(measured, name)
    lines = [f"`{line.replace('    ', NO_BREAK * 4)}`" for line in slip.lines]
    chosen = st.radio(
        f"One of these {plural(len(lines), 'line')} is wrong. Which?",
        range(len(lines)),
        index=None,
        format_func=lines.__getitem__,
        key=f"experiments._line_{name}",
    )
    if chosen is None:
        page.caption("Choose a line: the answer and what the slip costs follow.")
        return
    _answer(slip, int(chosen))
    for dataset, found in measured:
        sides, _ = slip_section.pair(found, name)
        if len(sides) == 2:
            page.caption(f"On {dataset}: {describe_slip(sides[1], sides[0])}")


def _curves(measured: list[tuple[str, Result]], name: str) -> None:
    """What the code with the slip and the code without it came to, on the set that tells them apart best."""
    both = [(dataset, found) for dataset, found in measured if slip_gain(found, name) is not None]
    if not both:
        return
    dataset, found = max(both, key=lambda one: _told_apart(one[1], name))
    sides, rows = slip_section.pair(found, name)
    note = f"{dataset}' test pictures, read once at the end"
    message = payload(sides, slip_section.CHANCE[dataset], float(found.settings["epochs"]), note)
    race_view(message, key="experiments.spot_view")
    page.caption(stored_results.how(found, rows))


def _told_apart(found: Result, name: str) -> tuple[bool, float]:
    """Whether all seeds agree about a slip, and by how many points it changes the model."""
    by = slip_gain(found, name)
    return (False, 0.0) if by is None else (by.clear, abs(by.mean))


def _answer(slip: Slip, chosen: int) -> None:
    right = chosen in slip.wrong
    line = slip.lines[slip.wrong[0]].strip()
    mended = f"It should read `{slip.right.strip()}`." if slip.right else "It should not be there."
    words = f"Line {slip.wrong[0] + 1}, `{line}`. {mended} {slip.title}: {slip.why}"
    if right:
        st.success(f"Yes. {words}", icon=":material/check:")
    else:
        st.warning(f"Not line {chosen + 1}. {words}", icon=":material/close:")
