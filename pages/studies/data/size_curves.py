"""Show test accuracy against the number of training images, at equal updates or equal time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import runs, session
from pages.studies.data import papers, stored_results
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
    select_size,
)
from vitviz.experiments import data_size
from vitviz.experiments.result import Result
from vitviz.plots.data_size import Own, size_figure
from vitviz.text import percent, plural
from vitviz.training.loop import Trainer

MATH = r"""
Every training uses $n$ images of one shuffled training set, the same for every model and seed: up to 1,000 the first
$n / K$ of each of the $K$ classes, beyond that the first $n$ of all. All trainings have the same number of updates and
are tested once at the end; a point is the mean over seeds. With $u$ updates of batch size $b$ a training has
$u\,b / n$ epochs: many for small $n$, a few or less than one for large $n$.

**Inductive bias** is the set of assumptions that a model makes before training. A convolution applies the same small
filter everywhere: neighbouring pixels are related, and features are translation equivariant. A ViT applies the same
linear map to every *patch* and learns from images which patches are related; self-attention ignores positions. A
correct bias helps when images are few; many images can replace it.

**Equal time** compares validation accuracy at the moment when the fastest model of that size finished on the same
machine; models with costlier updates have made fewer of them.
"""
MEASURES = {"updates": "Equal updates", "time": "Equal time"}


@dataclass(frozen=True)
class SizeControls(widgets.ControlValues, page="data"):
    """Comparison at equal updates or equal processor time, and the predicted best model."""

    equal: str
    guess: str


def draw() -> None:
    """Draw the controls, the question, curves, caption, the user's own points and drawers."""
    with page.row():
        chosen = stored_results.choose_grid()
        if chosen is None:
            return
        equal = widgets.segmented(
            SizeControls.key("equal"),
            "Compared at",
            tuple(MEASURES),
            "updates",
            format_func=MEASURES.__getitem__,
        )
    controls, stored = chosen
    timed = equal == "time"
    half = stored.where(augmented=controls.augmented)
    comparable = select_one_machine(half, stored.machine_of) if timed else half
    rows: Sequence[Row] = add_equal_time_accuracy(comparable) if timed else half
    lines = group_curves(rows, data_size.TITLES, controls.augmented, "timed" if timed else "test")
    user_points = [] if timed else list_user_points(controls.dataset, controls.augmented)
    curve_leads = find_leads(lines)
    shown = lines
    if curve_leads and not user_points and not _ask_prediction(controls, curve_leads[0], lines):
        shown = select_size(lines, curve_leads[-1].pictures) if len(curve_leads) > 1 else []
    measure = "validation accuracy" if timed else "test accuracy"
    sizes = data_size.GRIDS[controls.dataset].sizes
    page.figure(
        size_figure(shown, sizes, stored_results.CHANCE, measure, user_points, selection.get_theme()),
        "data.sizes_figure",
    )
    missing = describe_missing_sizes(
        group_curves(half, data_size.TITLES, controls.augmented), sizes, data_size.TITLES
    )
    sentences = (describe_sizes(lines), missing, describe_excluded_rows(half, comparable, data_size.TITLES))
    page.caption(" ".join(filter(None, sentences)) if shown is lines else _describe_largest_size(shown))
    if user_points:
        points = "; ".join(_describe_user_point(point, lines) for point in user_points)
        page.caption(f"Stars: your own races. {points}.")
    _draw_live_race(controls, stored)
    page.provenance(stored_results.describe_origin(stored))
    page.caption(stored_results.describe_coverage())
    papers.cite_papers("sizes")
    code = (data_size.Grid.trained_on, Trainer.advance)
    page.drawers("data.sizes", math=MATH, code=code, numbers=partial(_draw_table, stored, lines))


def _ask_prediction(controls: stored_results.GridControls, lead: Lead, lines: Sequence[Curve]) -> bool:
    """Ask which model is best with the fewest images; return True once answered or skipped."""
    candidates = {line.name: line for line in lines if line.find_size(lead.pictures) is not None}
    return prediction_gate.require_prediction(
        SizeControls.key("guess"),
        (controls.dataset, controls.augmented),
        f"With {plural(lead.pictures, 'image')}, which model is best?",
        {name: line.title for name, line in candidates.items()},
        lambda guess: describe_prediction(lead, candidates[guess]),
    )


def _describe_largest_size(shown: Sequence[Curve]) -> str:
    """Describe the accuracies at the largest size, shown before the prediction."""
    if not shown:
        return "One size was measured. Predict to see its points."
    each = ", ".join(f"{line.title} {percent(float(line.mean[0]))}" for line in shown)
    return f"With {int(shown[0].pictures[0]):,} images: {each}. Predict to see the rest."


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
    return f"{point.title} {percent(point.accuracy)} with {point.pictures:,} images{comparison}"


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


def _draw_live_race(controls: stored_results.GridControls, stored: Result) -> None:
    """Draw the button that trains four models live with the stored recipe."""
    if controls.dataset != "digits":
        page.caption("On Digits four of the models can be trained live with the same recipe.")
        return
    spent = sum_race_seconds(stored, controls.augmented)
    selection.link_to(
        "live_lab",
        f"Train {len(data_size.RACERS)} of them live"
        + ("" if spent is None else f", {spent:.0f} core-seconds"),
        **{"live_lab.train": "data", "live_lab.race_augmented": widgets.encode_value(controls.augmented)},
    )


def _draw_table(stored: Result, lines: Sequence[Curve]) -> None:
    table = {
        "model": [line.title for line in lines for _ in line.pictures],
        "parameters": [stored.settings["parameters"][line.name] for line in lines for _ in line.pictures],
        "images": [int(size) for line in lines for size in line.pictures],
        "mean": [float(value) for line in lines for value in line.mean],
        "lowest": [float(value) for line in lines for value in line.low],
        "highest": [float(value) for line in lines for value in line.high],
        "seeds": [int(count) for line in lines for count in line.seeds],
    }
    page.table(table, dict.fromkeys(("mean", "lowest", "highest"), percent), {}, "data.numbers")
    page.json("Every training (JSON)", [dict(row) for row in stored.rows], f"{stored.name}.json", "data.json")
