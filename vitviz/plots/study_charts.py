"""Draw the numbers of a study: one function for each kind of chart that its file can name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitviz.analysis.data_size import Curve, compute_mean_lines
from vitviz.analysis.one_change import Variant, create_variant
from vitviz.analysis.race import Racer
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.experiments.result_file import Row
from vitviz.plots import data_size, fine_tuning
from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, Mode, variant_colors

ChartOptions = Mapping[str, Any]
ROW_SYMBOLS = ("square", "circle", "diamond", "triangle-up", "cross")  # of the series of every row


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
    """Draw a row of dots for each series, one dot per seed.

    Options: 'marked', the control, whose mean is a line if 'is_base' is true; 'printed', the accuracies that a lecture
    printed for the rows, or one for all.
    """
    figure, palette, printed = Chart(mode), PALETTES[mode], options.get("printed", ())
    if options.get("marked") not in (None, *numbers.titles):
        raise ValueError(f"marked must be one of {', '.join(numbers.titles)}, received {options['marked']}")
    for row, (name, title) in enumerate(numbers.titles.items()):
        is_marked = name == options.get("marked")
        style = (palette.muted, "diamond") if is_marked else (palette.primary, "circle")
        _add_dots(figure, numbers, (name, ALL), (row, 0.3), style, f"{title}: %{{x:.2f}} %")
        if is_marked and options.get("is_base"):
            figure.add(  # a trace, which `conceal` hides, not a shape, which it keeps
                "scatter",
                x=[100 * numbers.get_mean(name, ALL)] * 2,
                y=[0, len(numbers.titles) - 1],
                orientation="h",
                mode="lines",
                line={"color": palette.muted, "width": 1.5, "dash": "dot"},
                hoverinfo="skip",
                showlegend=False,
            )
        if isinstance(printed, Mapping):
            figure.add(
                "scatter",
                x=[100 * printed[name]],
                y=[row],
                orientation="h",
                mode="markers",
                marker={"size": 12, "color": palette.ink, "symbol": "x"},
                hovertemplate="printed in the lecture: %{x:.2f} %",
            )
    crosses = " (× printed in the lecture)" if isinstance(printed, Mapping) else ""
    if printed and not crosses:
        line = {"color": palette.muted, "width": 2, "dash": "dash"}
        note = {"text": "printed", "font": {"color": palette.ink}, "xshift": 4}
        figure.vline(100 * printed[0], line, note)
    _name_rows(figure, [*numbers.titles.values()], f"test accuracy, %{crosses}")
    return figure


def draw_shares(numbers: Numbers, options: ChartOptions, mode: Mode) -> Chart:
    """Draw a row for each place, with the dots of every series."""
    figure, colors, rows = Chart(mode), variant_colors(options["families"]), options["places"]
    step = min(0.24, 0.8 / len(colors))
    for m, (name, title) in enumerate(numbers.titles.items()):
        style = colors[m], ROW_SYMBOLS[m % len(ROW_SYMBOLS)]
        for row, place in enumerate(numbers.values[name]):
            at = row + step * (m - (len(colors) - 1) / 2), min(0.1, 0.4 * step)
            legend = {"name": title, "legendgroup": title, "showlegend": not row}
            hover = f"{rows[row]}: %{{x:.1f}} %"
            _add_dots(figure, numbers, (name, place), at, style, hover, **legend)
    _name_rows(figure, rows, f"{options.get('axis', 'test accuracy')}, %")
    figure.layout(height=72 * len(rows) + 90, showlegend=True, xaxis={"range": [-3, 103]})
    return figure


def _add_dots(
    figure: Chart,
    numbers: Numbers,
    point: tuple[str, Any],
    at: tuple[float, float],
    style: tuple[str, str],
    hover: str,
    **legend: Any,
) -> None:
    """Add the seeds of a series at a place in a row, with a bar of the given half height at their mean."""
    seeds = [100 * share for share in numbers.list_seeds(*point)]
    low, high = (100 * end for end in numbers.get_interval(*point))
    figure.seeds(seeds, *at, (*style, PALETTES[figure.mode].ink), hover, (low, high), **legend)


def _name_rows(figure: Chart, rows: Sequence[str], across: str) -> None:
    """Lay out the axes of rows with their names, the first one above."""
    figure.layout(
        height=min(52 * len(rows), 600) + 70,
        xaxis={"title": {"text": across}},
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": list(rows),
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
        },
    )


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
    "shares": draw_shares,
    "race": draw_race,
}
