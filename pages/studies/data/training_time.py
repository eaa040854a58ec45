"""Show accuracy against training time for one number of images, and where the curves cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.studies.data import papers, stored_results
from vitviz.analysis.data_size import (
    Lines,
    compute_mean_lines,
    describe_crossings,
    describe_excluded_rows,
    describe_missing_sizes,
    describe_seeds,
    group_curves,
    read_common_end,
    select_one_machine,
)
from vitviz.experiments import data_size
from vitviz.experiments.result import CURVE_PICTURES
from vitviz.plots.data_size import time_figure
from vitviz.text import percent, percent_difference

FIRST_POINTS = 2  # of each curve, drawn before the prediction


@dataclass(frozen=True)
class TimeControls(widgets.ControlValues, page="data"):
    """The number of training images, and the model predicted to be best when the fastest finishes."""

    pictures: int
    time_guess: str


def draw() -> None:
    """Draw the controls, the curves, their crossings and the drawers."""
    with page.row():
        chosen = stored_results.choose_grid()
    if chosen is None:
        return
    controls, stored = chosen
    rows = [row for row in stored.rows if row["augmented"] == controls.augmented and row.get("curve")]
    sizes = tuple(sorted({int(row["pictures"]) for row in rows}))
    pictures = widgets.select_slider(
        TimeControls.key("pictures"),
        "Training images",
        sizes,
        sizes[-1],
        format_func=lambda size: f"{size:,}",
    )
    all_rows = [row for row in rows if row["pictures"] == pictures]
    comparable = select_one_machine(all_rows, stored.machine_of)
    lines = compute_mean_lines(comparable, data_size.TITLES)
    answered = _ask_prediction(controls, lines)
    figure = time_figure(
        lines, stored_results.CHANCE, selection.get_theme(), None if answered else FIRST_POINTS
    )
    page.figure(figure, "data.time_figure")
    measured = group_curves(comparable, data_size.TITLES, controls.augmented)
    sentences = (
        (
            _describe_ends(lines, min(data_size.GRIDS[controls.dataset].held_out, CURVE_PICTURES)),
            describe_crossings(lines),
        )
        if answered
        else ("Shown: the first points. Predict to see the rest.",)
    )
    all_measured = group_curves(all_rows, data_size.TITLES, controls.augmented)
    notes = (
        describe_missing_sizes(all_measured, (pictures,), data_size.TITLES),
        describe_excluded_rows(all_rows, comparable, data_size.TITLES),
    )
    page.caption(" ".join(filter(None, (*sentences, describe_seeds(measured, "line"), *notes))))
    page.provenance(stored_results.describe_origin(stored))
    page.caption(stored_results.describe_coverage())
    papers.cite_papers("time")
    page.drawers("data.time", code=(compute_mean_lines, describe_crossings))


def _ask_prediction(controls: stored_results.GridControls, lines: Lines) -> bool:
    """Ask which model is best when the fastest finishes; return True once answered or skipped."""
    last = read_common_end(lines)
    if last is None:
        return True
    seconds, reached = last
    titles = {name: title for name, (title, _) in lines.items()}
    fastest = min(lines, key=lambda name: lines[name][1][0, -1])
    return prediction_gate.require_prediction(
        TimeControls.key("time_guess"),
        (controls.dataset, controls.augmented),
        f"{titles[fastest]} finishes first, after {seconds:.0f}\N{NO-BREAK SPACE}s. Which model is best then?",
        titles,
        lambda guess: describe_prediction(reached, titles, guess),
    )


def describe_prediction(reached: Mapping[str, float], titles: Mapping[str, str], guess: str) -> str:
    """Describe whether the predicted model is the best at one moment; accuracies in [0, 1] by model."""
    others = {name: share for name, share in reached.items() if name != guess}
    best = max(others, key=others.__getitem__)
    above = percent_difference(reached[guess], others[best])
    if above == 0:
        return f"Your prediction: {titles[guess]}, level with {titles[best]}: {percent(reached[guess])}."
    if above > 0:
        return f"Your prediction: {titles[guess]} is right, {above:.1f} points above {titles[best]}."
    return f"Your prediction: {titles[guess]}. Measured: {titles[best]}, {-above:.1f} points above it."


def _describe_ends(lines: Lines, pictures: int) -> str:
    """Describe the final accuracies, and the accuracy that one validation image is worth."""
    ends = [
        f"{title} {percent(float(line[1, -1]))} after {line[0, -1]:.0f}\N{NO-BREAK SPACE}s"
        for title, line in lines.values()
    ]
    weight = f"{pictures:,} validation images ({100 / pictures:.2g} points each)"
    return f"At the end, on the {weight}: {', '.join(ends)}."
