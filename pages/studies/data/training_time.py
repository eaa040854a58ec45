"""Accuracy over training time, one size at a time: where the models' lines cross, and where they do not."""

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
    at_last_moment,
    crossings,
    curves,
    lacking,
    left_out,
    mean_lines,
    of_one_machine,
    seeds_said,
)
from vitviz.experiments import data_size
from vitviz.experiments.result import CURVE_PICTURES
from vitviz.plots.data_size import time_figure
from vitviz.text import percent, percent_difference

BEGUN = 2  # points of each line that are drawn before a guess


@dataclass(frozen=True)
class TimeControls(widgets.ControlValues, page="data"):
    """The number of training images, and who is guessed to be best when the quickest is done."""

    pictures: int
    time_guess: str


def draw() -> None:
    """The whole view: choices, lines, what crosses, drawers."""
    with page.row():
        chosen = stored_results.choose_grid()
    if chosen is None:
        return
    which, found = chosen
    rows = [row for row in found.rows if row["augmented"] == which.augmented and row.get("curve")]
    sizes = tuple(sorted({int(row["pictures"]) for row in rows}))
    pictures = widgets.select_slider(
        TimeControls.key("pictures"),
        "Training images",
        sizes,
        sizes[-1],
        format_func=lambda size: f"{size:,}",
    )
    every = [row for row in rows if row["pictures"] == pictures]
    here = of_one_machine(every, found.machine_of)
    lines = mean_lines(here, data_size.TITLES)
    answered = _ask_prediction(which, lines)
    figure = time_figure(lines, stored_results.CHANCE, selection.get_theme(), None if answered else BEGUN)
    page.figure(figure, "data.time_figure")
    measured = curves(here, data_size.TITLES, which.augmented)
    told = (
        (
            _describe_ends(lines, min(data_size.GRIDS[which.dataset].held_out, CURVE_PICTURES)),
            crossings(lines),
        )
        if answered
        else ("These are the first points. Predict to see the rest.",)
    )
    all_measured = curves(every, data_size.TITLES, which.augmented)
    lacks = lacking(all_measured, (pictures,), data_size.TITLES), left_out(every, here, data_size.TITLES)
    page.caption(" ".join(filter(None, (*told, seeds_said(measured, "line"), *lacks))))
    page.provenance(stored_results.describe_origin(found))
    page.caption(stored_results.describe_coverage())
    papers.cite_papers("time")
    page.drawers("data.time", code=(mean_lines, crossings))


def _ask_prediction(which: stored_results.GridControls, lines: Lines) -> bool:
    """Asks who is best when the quickest is done; whether the lines may be shown."""
    last = at_last_moment(lines)
    if last is None:
        return True
    seconds, reached = last
    titles = {name: title for name, (title, _) in lines.items()}
    quickest = min(lines, key=lambda name: lines[name][1][0, -1])
    return prediction_gate.require_prediction(
        TimeControls.key("time_guess"),
        (which.dataset, which.augmented),
        f"{titles[quickest]} finishes first, after {seconds:.0f}\N{NO-BREAK SPACE}s. Which model is best then?",
        titles,
        lambda guess: describe_prediction(reached, titles, guess),
    )


def describe_prediction(reached: Mapping[str, float], titles: Mapping[str, str], guess: str) -> str:
    """Describe whether the predicted model is the best at one moment; accuracies in [0, 1] by model."""
    others = {name: share for name, share in reached.items() if name != guess}
    best = max(others, key=others.__getitem__)
    above = percent_difference(reached[guess], others[best])
    if above == 0:
        return f"You said {titles[guess]}: level with {titles[best]}, {percent(reached[guess])}."
    if above > 0:
        return f"You said {titles[guess]}: right, {above:.1f} points above {titles[best]}."
    return f"You said {titles[guess]}: not so, {titles[best]} lies {-above:.1f} points above it."


def _describe_ends(lines: Lines, pictures: int) -> str:
    """Return where the lines end, and how much one of the images behind them weighs."""
    said = [
        f"{title} {percent(float(line[1, -1]))} after {line[0, -1]:.0f}\N{NO-BREAK SPACE}s"
        for title, line in lines.values()
    ]
    weight = f"{pictures:,} validation images, of which one is {100 / pictures:.2g} points"
    return f"At the end, on the {weight}: {', '.join(said)}."
