"""Draw the numbers of a study: one function for each kind of chart that its file can name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitviz.analysis.data_size import Curve, compute_mean_lines
from vitviz.analysis.one_change import Variant, create_variant
from vitviz.analysis.race import Racer
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.experiments.result_file import Row
from vitviz.plots import data_size, distillation, fine_tuning, hybrids, robustness
from vitviz.plots.chart import Chart
from vitviz.plots.theme import Mode

ChartOptions = Mapping[str, Any]


@dataclass(frozen=True)
class RaceChart:
    """Learning curves of variants, and a dot for each seed's test accuracy.

    Attributes:
        chance: accuracy of guessing, in [0, 1].
        epochs: length of a training.
        note: the images on which the dots were measured.
        racers: the variants with their accuracy on shuffled patches, which is drawn in place of the dots.
        known: names of the variants drawn before the prediction, where the range of all would reveal the answer.
    """

    variants: list[Variant]
    chance: float
    epochs: float
    note: str = ""
    racers: tuple[Racer, ...] = ()
    known: tuple[str, ...] = ()

    def list_known(self) -> list[Variant]:
        """Return all variants; those that are not known have neither curve nor results."""
        return [v if v.name in self.known else v.without_results() for v in self.variants]


def draw_sizes(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw accuracy over the number of training images."""
    what, own_points = options.get("what", "test accuracy"), numbers.extra.get("own_points", ())
    return data_size.size_figure(numbers.create_curves(), numbers.places, 0.1, what, own_points, mode)


def draw_errors(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw accuracy over images per class, logarithmic in the error rate."""
    return fine_tuning.image_count_figure(numbers.create_curves(), numbers.places, 0.1, mode)


def draw_published(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw cited accuracy over millions of pretraining images."""
    lines = {
        name: [100 * values[place][0] if place in values else None for place in numbers.places]
        for name, values in numbers.values.items()
    }
    return data_size.pretraining_figure(lines, numbers.places, mode)


def draw_times(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw validation accuracy over seconds of training."""
    rows = [row for name in numbers.titles for row in numbers.rows[name]]
    return data_size.time_figure(compute_mean_lines(rows, numbers.titles, numbers.images), 0.1, mode)


def draw_gains(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw the difference of each series from the one with the suffix of `from`, each with its own 95 % interval."""
    curves = []
    for name, title in numbers.titles.items():
        base = options["from"].format(name)
        verdicts = [numbers.compare(name, base, place) for place in numbers.places]
        points = [
            [v.estimate if end is None else end for end in (v.estimate, v.low, v.high)] for v in verdicts
        ]
        curves.append(Curve(name, title, np.array(numbers.places), *(np.array(points).T / 100)))
    return data_size.gain_figure(curves, options["what"], mode)


def draw_rows(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw a row of dots for each series, one dot per seed; with the accuracies that a lecture printed."""
    names = list(numbers.titles)
    marked = names.index(options["marked"]) if "marked" in options else -1
    printed = options.get("printed", {})
    printed = [printed[name] for name in names] if isinstance(printed, Mapping) and printed else printed
    tests = [numbers.list_seeds(name) for name in names]
    ends = [numbers.get_interval(name) for name in names]
    return hybrids.seeds_figure([*numbers.titles.values()], tests, ends, marked, mode, printed or ())


def draw_methods(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw a dot with its interval for each series; the first is a line."""
    ends = [numbers.get_interval(name) for name in numbers.titles]
    means = [numbers.get_mean(name, ALL) for name in numbers.titles]
    return distillation.lessons_figure([*numbers.titles.values()], means, ends, mode)


def draw_shares(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw a row for each place, with the dots of every series."""
    shares = {
        title: [[*seeds.values()] for seeds in numbers.values[name].values()]
        for name, title in numbers.titles.items()
    }
    ends = {
        title: [numbers.get_interval(name, place) for place in numbers.values[name]]
        for name, title in numbers.titles.items()
    }
    axis = options.get("axis", "test accuracy")
    return robustness.rows_figure(options["places"], shares, ends, options["families"], axis, mode)


def draw_race(numbers: Numbers, options: ChartOptions, mode: Mode) -> RaceChart:
    """Return the learning curves of the series."""
    stored, rows = numbers.evidence[0]
    epochs = count_epochs(stored.settings, rows[0])
    about = epochs, numbers.images
    variants = [
        create_variant(name, title, numbers.rows[name], *about) for name, title in numbers.titles.items()
    ]
    known = tuple(name for name in numbers.titles if name in options.get("known", ()))
    note = f"{numbers.sample}; {options['note']}"
    return RaceChart(variants, numbers.chance or 0.0, epochs, note, known=known)


def add_sample(chart: Chart, sample: str) -> None:
    """Add the numbers of seeds and images to the tooltips of measured points."""
    for trace in chart.traces:
        if sample and "printed" not in trace.get("hovertemplate", "printed"):
            trace["hovertemplate"] += f" ({sample})"


def count_epochs(settings: Row, row: Row) -> float:
    """Return the epochs of a training; one of few images has a number of updates instead, and ten classes."""
    if "epochs" in settings:
        return float(settings["epochs"])
    images = 10 * int(row["a_class"])
    return float(settings["updates"]) * min(int(settings["batch_size"]), images) / images


KINDS: dict[str, Callable[[Numbers, ChartOptions, Mode], Chart | RaceChart]] = {
    "sizes": draw_sizes,
    "errors": draw_errors,
    "published": draw_published,
    "times": draw_times,
    "gains": draw_gains,
    "rows": draw_rows,
    "methods": draw_methods,
    "shares": draw_shares,
    "race": draw_race,
}
