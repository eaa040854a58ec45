"""Study accuracy against training time for one number of images, and where the curves cross."""

from pages.controls import widgets
from pages.questions.prediction_gate import Prediction, ask_highest
from pages.studies import data_size_results
from pages.studies.data_size_results import Grid
from pages.studies.study import Choice, Study, View
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
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result_file import CURVE_PICTURES
from vitviz.plots.data_size import time_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent

GUESS = "data.time_guess"


def list_sizes(dataset: str, augmented: bool) -> dict[int, str]:
    """Return the numbers of images whose trainings recorded a curve."""
    sizes = sorted({int(row["pictures"]) for row in Grid(dataset, augmented).rows if row.get("curve")})
    return {size: f"{size:,}" for size in sizes}


def find_most(dataset: str, augmented: bool) -> int | None:
    """Return the largest number of images whose trainings recorded a curve; None if none did."""
    return max(list_sizes(dataset, augmented), default=None)


def build(mode: Mode, dataset: str, augmented: bool, pictures: int) -> View:
    grid = Grid(dataset, augmented)
    rows = [row for row in grid.rows if row["pictures"] == pictures and row.get("curve")]
    comparable = select_one_machine(rows, grid.stored.machine_of)
    lines = compute_mean_lines(comparable, TITLES)
    notes = (
        describe_seeds(group_curves(comparable, TITLES, augmented), "line"),
        _describe_ends(lines, min(GRIDS[dataset].held_out, CURVE_PICTURES)),
        describe_missing_sizes(group_curves(rows, TITLES, augmented), (pictures,), TITLES),
        describe_excluded_rows(rows, comparable, TITLES),
    )
    return View(
        time_figure(lines, data_size_results.CHANCE, mode),
        describe_crossings(lines),
        _ask(grid, lines),
        (data_size_results.create_evidence(grid),),
        " ".join(filter(None, notes)),
    )


def _ask(grid: Grid, lines: Lines) -> Prediction | None:
    last = read_common_end(lines)
    if last is None:
        return None
    seconds, reached = last
    titles = {name: title for name, (title, _) in lines.items()}
    fastest = min(lines, key=lambda name: lines[name][1][0, -1])
    return ask_highest(
        GUESS,
        (grid.dataset, grid.augmented),
        f"{titles[fastest]} finishes first, after {seconds:.0f}\N{NO-BREAK SPACE}s. Which model is best then?",
        reached,
        percent,
        titles,
    )


def _describe_ends(lines: Lines, pictures: int) -> str:
    """Describe the final accuracies, and the accuracy that one validation image is worth."""
    ends = [
        f"{title} {percent(float(line[1, -1]))} after {line[0, -1]:.0f}\N{NO-BREAK SPACE}s"
        for title, line in lines.values()
    ]
    weight = f"{pictures:,} validation images (one image: {100 / pictures:.2g} points)"
    return f"At the end, on the {weight}: {', '.join(ends)}."


STUDY = Study(
    name="training_time",
    title="Training time",
    question="Which model is best after the same training time?",
    minutes=3,
    experiments=data_size_results.EXPERIMENTS,
    build=build,
    choices=(
        *data_size_results.CHOICES,
        Choice("data.pictures", "Training images", list_sizes, find_most, widgets.select_slider),
    ),
    keys=(GUESS,),
    code=(compute_mean_lines, describe_crossings),
)
