"""Study accuracy against training time for one number of images, and where the curves cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pages.controls import widgets
from pages.questions.prediction_gate import Prediction
from pages.studies import data_grids
from pages.studies.data_grids import GridControls
from pages.studies.study import Study, View
from vitviz.analysis.data_size import (
    Lines,
    Row,
    compute_mean_lines,
    describe_crossings,
    describe_excluded_rows,
    describe_missing_sizes,
    describe_seeds,
    group_curves,
    read_common_end,
    select_one_machine,
)
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result import CURVE_PICTURES
from vitviz.plots.data_size import time_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, percent_difference


@dataclass(frozen=True)
class TimeControls(widgets.ControlValues, page="data"):
    """The number of training images, and the model predicted to be best when the fastest finishes."""

    pictures: int
    time_guess: str


@dataclass(frozen=True)
class TimeSelection:
    """The selected results and the number of training images."""

    grid: GridControls
    pictures: int

    @property
    def rows(self) -> list[Row]:
        """The trainings that recorded a curve."""
        return [row for row in self.grid.rows if row["pictures"] == self.pictures and row.get("curve")]


def list_sizes(grid: GridControls) -> tuple[int, ...]:
    """Return the numbers of images whose trainings recorded a curve."""
    return tuple(sorted({int(row["pictures"]) for row in grid.rows if row.get("curve")}))


def get_example() -> TimeSelection | None:
    grid = data_grids.get_example()
    sizes = () if grid is None else list_sizes(grid)
    return TimeSelection(grid, sizes[-1]) if grid is not None and sizes else None


def choose() -> TimeSelection | None:
    grid = data_grids.choose_grid()
    sizes = () if grid is None else list_sizes(grid)
    if grid is None or not sizes:
        return None
    pictures = widgets.select_slider(
        TimeControls.key("pictures"),
        "Training images",
        sizes,
        sizes[-1],
        format_func=lambda size: f"{size:,}",
    )
    return TimeSelection(grid, pictures)


def build(selected: TimeSelection, mode: Mode) -> View:
    """Return validation accuracy over core-seconds of the trainings on one machine."""
    grid = selected.grid
    comparable = select_one_machine(selected.rows, grid.stored.machine_of)
    lines = compute_mean_lines(comparable, TITLES)
    sizes = (selected.pictures,)
    notes = (
        describe_seeds(group_curves(comparable, TITLES, grid.augmented), "line"),
        _describe_ends(lines, min(GRIDS[grid.dataset].held_out, CURVE_PICTURES)),
        describe_missing_sizes(group_curves(selected.rows, TITLES, grid.augmented), sizes, TITLES),
        describe_excluded_rows(selected.rows, comparable, TITLES),
        data_grids.describe_coverage(),
    )
    return View(
        time_figure(lines, data_grids.CHANCE, mode),
        describe_crossings(lines),
        _ask(grid, lines),
        (data_grids.create_evidence(grid),),
        " ".join(filter(None, notes)),
    )


def _ask(grid: GridControls, lines: Lines) -> Prediction | None:
    """Ask which model is best when the fastest finishes."""
    last = read_common_end(lines)
    if last is None:
        return None
    seconds, reached = last
    titles = {name: title for name, (title, _) in lines.items()}
    fastest = min(lines, key=lambda name: lines[name][1][0, -1])
    return Prediction(
        TimeControls.key("time_guess"),
        (grid.dataset, grid.augmented),
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


STUDY = Study(
    name="training_time",
    title="Training time",
    question="Which model is best after the same training time?",
    minutes=3,
    experiments=data_grids.EXPERIMENTS,
    choose=choose,
    build=build,
    example=get_example,
    controls=(GridControls, TimeControls),
    code=(compute_mean_lines, describe_crossings),
)
