"""Test accuracy against the number of training images, at equal updates or at equal time."""

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
    at_equal_time,
    curves,
    describe_prediction,
    describe_sizes,
    lacking,
    leads,
    left_out,
    of_one_machine,
    select_size,
)
from vitviz.experiments import data_size
from vitviz.experiments.result import Result
from vitviz.plots.data_size import Own, size_figure
from vitviz.text import percent, plural
from vitviz.training.loop import Trainer

MATH = r"""
Every training has $n$ images of one shuffled training set, the same for every model and seed: up to 1,000 the first
$n / K$ of each of the $K$ classes, beyond that the first $n$ of all. Each makes the same number of updates; the test
images are read once at its end, and a point is the mean of its seeds. So a small set is seen many times over, a large
one a few times or less than once: with $u$ updates of $b$ images each is seen $u\,b / n$ times.

**Inductive bias** is what a model takes for granted before it has seen an image. A convolution has one small filter
for every place: neighbours belong together, and what is learned in one corner holds in all. A ViT has one linear map
for every *patch* and learns from images which places belong together; self-attention itself does not know of places.
Bias helps where it is right and images are few; where images are many, they can teach it.

**Equal time** reads every training at the moment when the quickest model of that size was done on the same machine, on
the validation images: a costlier update has then been made fewer times.
"""
MEASURES = {"updates": "Equal updates", "time": "Equal time"}


@dataclass(frozen=True)
class SizeControls(widgets.ControlValues, page="data"):
    """Whether models are compared at equal updates or equal processor time, and the predicted best model."""

    equal: str
    guess: str


def draw() -> None:
    """The whole view: choices, the question, curves, caption, the user's own points, drawers."""
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
    which, found = chosen
    timed = equal == "time"
    half = found.where(augmented=which.augmented)
    comparable = of_one_machine(half, found.machine_of) if timed else half
    rows: Sequence[Row] = at_equal_time(comparable) if timed else half
    lines = curves(rows, data_size.TITLES, which.augmented, "timed" if timed else "test")
    own = [] if timed else list_user_points(which.dataset, which.augmented)
    found_leads = leads(lines)
    shown = lines
    if found_leads and not own and not _ask_prediction(which, found_leads[0], lines):
        shown = select_size(lines, found_leads[-1].pictures) if len(found_leads) > 1 else []
    what = "validation accuracy" if timed else "test accuracy"
    sizes = data_size.GRIDS[which.dataset].sizes
    page.figure(
        size_figure(shown, sizes, stored_results.CHANCE, what, own, selection.get_theme()),
        "data.sizes_figure",
    )
    lacks = lacking(curves(half, data_size.TITLES, which.augmented), sizes, data_size.TITLES)
    described = (describe_sizes(lines), lacks, left_out(half, comparable, data_size.TITLES))
    page.caption(" ".join(filter(None, described)) if shown is lines else _describe_largest_size(shown))
    if own:
        page.caption(
            "Stars: your own races. " + "; ".join(_describe_user_point(point, lines) for point in own) + "."
        )
    _draw_live_race(which, found)
    page.provenance(stored_results.describe_origin(found))
    page.caption(stored_results.describe_coverage())
    papers.cite_papers("sizes")
    page.drawers(
        "data.sizes",
        math=MATH,
        code=(data_size.Grid.trained_on, Trainer.advance),
        numbers=partial(_draw_table, found, lines),
    )


def _ask_prediction(which: stored_results.GridControls, lead: Lead, lines: Sequence[Curve]) -> bool:
    """Asks who is best with the fewest images; once there is a guess says whether it was right."""
    there = {line.name: line for line in lines if line.at(lead.pictures) is not None}
    return prediction_gate.require_prediction(
        SizeControls.key("guess"),
        (which.dataset, which.augmented),
        f"With {plural(lead.pictures, 'picture')} alone, which model is best?",
        {name: line.title for name, line in there.items()},
        lambda guess: describe_prediction(lead, there[guess]),
    )


def _describe_largest_size(shown: Sequence[Curve]) -> str:
    """Return the largest size alone, while the question about the smallest is open."""
    if not shown:
        return "One size was measured. Predict to see its points."
    each = ", ".join(f"{line.title} {percent(float(line.mean[0]))}" for line in shown)
    return f"With {int(shown[0].pictures[0]):,} images: {each}. Predict to see the rest."


def list_user_points(dataset: str, augmented: bool) -> list[Own]:
    """Return where the visit's own races of this grid ended."""
    grid, found = data_size.GRIDS[dataset], []
    for run in runs.list_runs(session.get_current()):
        config = run.config()
        shifted = bool(config.train.shift_px)
        if config.preset != data_size.PRESET or config.train.dataset != dataset or shifted != augmented:
            continue
        pictures = grid.size_of(config.train)
        if pictures is None:  # of an earlier version, that drew its images otherwise
            continue
        for member in runs.list_models(run):
            test, name = runs.open_log(member.id).read().test, member.directory.name
            if test is not None and name in data_size.TITLES:
                found.append(Own(name, data_size.TITLES[name], pictures, float(test["accuracy"])))
    return found


def _describe_user_point(point: Own, lines: Sequence[Curve]) -> str:
    """Return a point of the user's beside the stored one."""
    stored_line = next((line for line in lines if line.name == point.name), None)
    place = None if stored_line is None else stored_line.at(point.pictures)
    beside = (
        "" if stored_line is None or place is None else f" (stored {percent(float(stored_line.mean[place]))})"
    )
    return f"{point.title} {percent(point.accuracy)} with {point.pictures:,} images{beside}"


def sum_race_seconds(found: Result, augmented: bool) -> float | None:
    """Return the core-seconds of the race's models with all images, as stored; None if one is missing."""
    most = max(int(row["pictures"]) for row in found.rows)
    spans = [
        [float(row["training_core_s"]) for row in found.where(model=name, pictures=most, augmented=augmented)]
        for name in data_size.RACERS
    ]
    return sum(mean(each) for each in spans) if all(spans) else None


def _draw_live_race(which: stored_results.GridControls, found: Result) -> None:
    """The way to race four of them now, with the stored points' own recipe."""
    if which.dataset != "digits":
        page.caption("On Digits you can train four of them live with the same recipe.")
        return
    spent = sum_race_seconds(found, which.augmented)
    selection.link_to(
        "live_lab",
        f"Race {len(data_size.RACERS)} of them live"
        + ("" if spent is None else f", {spent:.0f} core-seconds"),
        **{"live_lab.train": "data", "live_lab.race_augmented": widgets.encode_value(which.augmented)},
    )


def _draw_table(found: Result, lines: Sequence[Curve]) -> None:
    table = {
        "model": [line.title for line in lines for _ in line.pictures],
        "parameters": [found.settings["parameters"][line.name] for line in lines for _ in line.pictures],
        "pictures": [int(size) for line in lines for size in line.pictures],
        "mean": [float(value) for line in lines for value in line.mean],
        "lowest": [float(value) for line in lines for value in line.low],
        "highest": [float(value) for line in lines for value in line.high],
        "seeds": [int(count) for line in lines for count in line.seeds],
    }
    page.table(table, dict.fromkeys(("mean", "lowest", "highest"), percent), {}, "data.numbers")
    page.json("Every training (JSON)", [dict(row) for row in found.rows], f"{found.name}.json", "data.json")
