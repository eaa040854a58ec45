"""Study test accuracy against the number of training images, at three training budgets."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from statistics import mean

from pages.controls import widgets
from pages.frame import page
from pages.questions.prediction_gate import Prediction, ask_options
from pages.selection import selection
from pages.stores import runs, session
from pages.studies import data_size_results
from pages.studies.data_size_results import Grid
from pages.studies.study import Choice, Evidence, Study, Table, View, create_curve_table
from vitviz.analysis.data_size import (
    Curve,
    Lead,
    Row,
    add_equal_time_accuracy,
    describe_excluded_rows,
    describe_missing_sizes,
    describe_prediction,
    describe_sizes,
    find_leads,
    group_curves,
    select_one_machine,
)
from vitviz.experiments import data_size
from vitviz.experiments.result_file import Result, read_result_if_any
from vitviz.plots.data_size import Own, size_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plural

GUESS = "data.guess"
UPDATES, TIME, STOPPED = "updates", "time", "stopped"
BUDGETS = {STOPPED: "Early stopping", UPDATES: "Equal updates", TIME: "Equal time"}


def load_stopped(grid: Grid) -> Result | None:
    """Load the trainings that ended when validation stopped improving; None if there are none."""
    stored = read_result_if_any(f"early_stopping_{grid.dataset}")
    return stored if stored is not None and stored.where(augmented=grid.augmented) else None


def list_budgets(dataset: str, augmented: bool) -> dict[str, str]:
    stopped = load_stopped(Grid(dataset, augmented))
    return {name: title for name, title in BUDGETS.items() if name != STOPPED or stopped is not None}


def build(mode: Mode, dataset: str, augmented: bool, budget: str) -> View:
    """Return accuracy over images for a training budget, with the user's own races as stars."""
    grid = Grid(dataset, augmented)
    stopped = load_stopped(grid) if budget == STOPPED else None
    stored = grid.stored if stopped is None else stopped
    half = stored.where(augmented=augmented)
    comparable = select_one_machine(half, stored.machine_of) if budget == TIME else half
    rows: Sequence[Row] = add_equal_time_accuracy(comparable) if budget == TIME else half
    lines = group_curves(rows, data_size.TITLES, augmented, "timed" if budget == TIME else "test")
    points = list_user_points(dataset, augmented) if budget == UPDATES else []
    sizes = data_size.GRIDS[dataset].sizes
    notes = (
        describe_missing_sizes(group_curves(half, data_size.TITLES, augmented), sizes, data_size.TITLES),
        describe_excluded_rows(half, comparable, data_size.TITLES),
    )
    measure = "validation accuracy" if budget == TIME else "test accuracy"
    evidence = (
        data_size_results.create_evidence(grid) if stopped is None else create_stopped_evidence(stopped, half)
    )
    return View(
        picture=size_figure(lines, sizes, data_size_results.CHANCE, measure, points, mode),
        caption=describe_sizes(lines),
        prediction=None if points else ask_lead(GUESS, (dataset, augmented), ", which model", lines),
        evidence=(evidence,),
        notes=" ".join(filter(None, notes)),
        table=_create_table(stored, lines),
        below=partial(_draw_live_race, grid, [_describe_user_point(point, lines) for point in points]),
    )


def create_stopped_evidence(stored: Result, rows: Sequence[Row]) -> Evidence:
    """Return the provenance of trainings that ended when validation stopped improving."""
    settings = stored.settings
    passes = [float(row["passes"]) for row in rows]
    ceiling = sum(bool(row["ceiling_hit"]) for row in rows)
    return Evidence(
        stored,
        rows,
        f"each model trained until {settings['patience_evaluations']} evaluations in a row, one every"
        f" {int(rows[0]['evaluated_every'])} updates, did not improve its validation accuracy, or for"
        f" {settings['most_updates']:,} updates ({plural(ceiling, 'run')} reached this limit);"
        f" {min(passes):.0f} to {max(passes):.0f} epochs",
    )


def ask_lead(key: str, about: Hashable, asked: str, curves: Sequence[Curve]) -> Prediction | None:
    """Return the question for the model that leads at the smallest size, or is tied with it; None without a lead."""
    leads = find_leads(curves)
    if not leads:
        return None
    lead = leads[0]
    options = {curve.name: curve for curve in curves if curve.find_size(lead.pictures) is not None}
    margins = [Lead(lead.pictures, lead.first, curve).margin for curve in options.values()]
    right = [place for place, margin in enumerate(margins) if round(100 * margin, 1) == 0]
    return ask_options(
        key,
        about,
        f"With {plural(lead.pictures, 'image')}{asked} is best?",
        {name: curve.title for name, curve in options.items()},
        lambda guess: describe_prediction(lead, options[guess]),
        right=lambda: right,
    )


def list_user_points(dataset: str, augmented: bool) -> list[Own]:
    """Return the test accuracies of the session's own races on a dataset."""
    grid, points = data_size.GRIDS[dataset], []
    for run in runs.list_runs(session.get_current()):
        config = run.config()
        shifted = bool(config.train.shift_px)
        if config.preset != data_size.PRESET or config.train.dataset != dataset or shifted != augmented:
            continue
        pictures = grid.size_of(config.train)
        if pictures is None:  # an earlier version selected other images
            continue
        for member in runs.list_models(run):
            test, name = runs.open_log(member.id).read().test, member.directory.name
            if test is not None and name in data_size.TITLES:
                points.append(Own(name, data_size.TITLES[name], pictures, float(test["accuracy"])))
    return points


def _describe_user_point(point: Own, lines: Sequence[Curve]) -> str:
    stored_line = next((line for line in lines if line.name == point.name), None)
    place = None if stored_line is None else stored_line.find_size(point.pictures)
    comparison = (
        "" if stored_line is None or place is None else f" (stored {percent(float(stored_line.mean[place]))})"
    )
    return f"Star: your {point.title}, {percent(point.accuracy)} with {point.pictures:,} images{comparison}."


def sum_race_seconds(stored: Result, augmented: bool) -> float | None:
    """Return the core-seconds of the race's models with all images, as stored; None if one is missing."""
    most = max(int(row["pictures"]) for row in stored.rows)
    spans = [
        [
            float(row["training_core_s"])
            for row in stored.where(model=name, pictures=most, augmented=augmented)
        ]
        for name in data_size.RACERS
    ]
    return sum(mean(each) for each in spans) if all(spans) else None


def _draw_live_race(grid: Grid, user_points: Sequence[str]) -> None:
    """Describe the user's own races, and draw the link that trains four models live with the stored recipe."""
    for sentence in user_points:
        page.caption(sentence)
    if grid.dataset != "digits":
        page.caption("On Digits, a CNN, a hybrid, a Swin and a ViT can be trained live, all with one recipe.")
        return
    spent = sum_race_seconds(grid.stored, grid.augmented)
    selection.link_to(
        "live_lab",
        f"Train {len(data_size.RACERS)} of them live"
        + ("" if spent is None else f", {spent:.0f} s of training on one core"),
        **{"live_lab.train": "data", "live_lab.race_augmented": widgets.encode_value(grid.augmented)},
    )


def _create_table(stored: Result, lines: Sequence[Curve]) -> Table:
    parameters = stored.settings.get("parameters") or {row["model"]: row["parameters"] for row in stored.rows}
    table = create_curve_table(lines, "images", f"{stored.name}.csv")
    counts = [parameters.get(line.name) for line in lines for _ in line.pictures]
    return replace(table, columns={**table.columns, "parameters": counts})


STUDY = Study(
    name="data_size",
    title="How much data?",
    question="Which model needs the fewest training images?",
    minutes=4,
    experiments=data_size_results.EXPERIMENTS,
    build=build,
    choices=(*data_size_results.CHOICES, Choice("data.equal", "Training length", list_budgets)),
    keys=(GUESS,),
    math=page.read_math(__file__),
    code=(data_size.Grid.trained_on, "vitviz.training.loop:Trainer.advance"),
)
