"""Draw a race of models: accuracy over epochs, and beside it each model's results."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import Measured, Racer, align_racers, measured_span
from vitviz.analysis.verdict import measure_interval
from vitviz.plots.chart import Chart, Panel, pack_panels
from vitviz.plots.hidden_curves import conceal
from vitviz.plots.theme import DASHES, PALETTES, variant_colors
from vitviz.text import percent, plural

FloatArray = NDArray[np.floating]
Ends = tuple[float, float]
ROOM = 0.02  # of the scale beside the outermost dots
STEP = 0.05  # the scale's ends are multiples of it
QUARTERS = [0, 25, 50, 75, 100]
CURVES_PX = 520
ROW_PX, LINE_PX = 62, 17  # of a model, and of a line of the words above its dots
_THEME = PALETTES["light"]  # the browser has each colour in its own theme


@dataclass(frozen=True, eq=False)
class RaceCurves:
    """Mean accuracy (2, n) of one model over epochs, the same of every seed, and an interval at each epoch."""

    title: str
    color: str
    mean: FloatArray
    seeds: Sequence[FloatArray] = ()
    band: FloatArray = field(default_factory=lambda: np.empty((2, 0)))
    sample: str = ""


@dataclass(frozen=True)
class ResultRow:
    """The test accuracies of one model over its seeds, and its result in words."""

    title: str
    color: str
    tests: Sequence[float]
    interval: Ends | None
    result: str


def payload(racers: Sequence[Racer], chance: float, epochs: float, waiting: str = "") -> bytes:
    """Return the message of a race: curves, and accuracy on original and shuffled images.

    Args:
        racers: in the order of their colours, eight at most.
        chance: accuracy of guessing, in [0, 1].
        epochs: length of the whole race, which fixes the axis.
    """
    colors = variant_colors([racer.family for racer in racers])
    curves = [
        RaceCurves(racer.title, color, racer.curve) for racer, color in zip(racers, colors, strict=True)
    ]
    measured = {racer.name: racer.measured for racer in align_racers(racers)}
    pairs = Chart("light")
    for place, (racer, color) in enumerate(zip(racers, colors, strict=True)):
        _draw_pair(pairs, place, racer.title, color, measured.get(racer.name))
    _finish_rows(pairs, len(racers), chance, (0.0, 1.0), "accuracy, %     ● original     ○ patches shuffled")
    pairs.layout(meta="Accuracy on original images and with shuffled patches")
    return pack_panels(
        [
            Panel(
                "Accuracy while training", "validation images", draw_curves(curves, chance, epochs, waiting)
            ),
            Panel("Original and with shuffled patches", _describe_measurement(align_racers(racers)), pairs),
        ],
        0.6,
    )


def pack_variants(
    variants: Sequence[Variant], chance: float, epochs: float, note: str, *, concealed: bool = False
) -> bytes:
    """Return the message of a race of variants over seeds.

    Args:
        variants: in the order of their colours, eight at most; variants of one family have a grey first.
        chance: accuracy of guessing, in [0, 1].
        epochs: length of a training.
        concealed: True draws the range of all curves in grey, and no results.
    """
    models = list_curves(variants)
    if concealed:  # the range of the means, which their intervals would widen
        models = [replace(model, band=np.empty((2, 0))) for model in models]
    curves = draw_curves(models, chance, epochs)
    ends = [find_interval([*variant.test.values()], variant.images) for variant in variants]
    span = scale([*chain(*filter(None, ends), *(variant.test.values() for variant in variants))])
    rows = [
        ResultRow(model.title, model.color, [*variant.test.values()], interval, variant.summary)
        for model, variant, interval in zip(models, variants, ends, strict=True)
    ]
    return pack_results(
        conceal(curves) if concealed else curves,
        f"validation images{'; grey: range of all curves' if concealed else ''}",
        Panel("Accuracy, time and parameters", note, draw_rows([] if concealed else rows, chance, span)),
    )


def list_curves(variants: Sequence[Variant]) -> list[RaceCurves]:
    """Return the curves of variants in their colours."""
    return [
        RaceCurves(
            variant.title,
            color,
            variant.curve,
            band=variant.band,
            sample=plural(len(variant.test), "seed") if variant.test else "",
        )
        for variant, color in zip(variants, variant_colors([v.family for v in variants]), strict=True)
    ]


def pack_results(curves: Chart, note: str, results: Panel) -> bytes:
    """Return the message of curves with the test results beside them, once there are any."""
    panels = [Panel("Accuracy while training", note, curves)]
    return pack_panels([*panels, results] if results.chart.traces else panels, 0.7)


def draw_curves(
    models: Sequence[RaceCurves], chance: float, epochs: float, waiting: str = "", height_px: int = CURVES_PX
) -> Chart:
    """Draw accuracy over epochs, with the models' names at the ends of their lines."""
    figure = Chart("light")
    figure.hline(100 * chance, f"chance {percent(chance, 0)}")
    for place, model in enumerate(models):
        line = {"color": model.color, "dash": DASHES[place % len(DASHES)]}
        if model.band.size:
            low, high = 100 * model.band
            figure.band(model.mean[0], low, high, model.color)
        for seed in model.seeds:
            style = {"line": line | {"width": 1.25}, "opacity": 0.45}
            figure.add("scatter", **_scale(seed), mode="lines", hoverinfo="skip", showlegend=False, **style)
        sample = f" ({model.sample})" if model.sample else ""
        figure.add(
            "scatter",
            name=model.title,
            **_scale(model.mean),
            mode="lines+text",
            line=line | {"width": 2.5},
            hovertemplate=f"%{{y:.1f}}\N{NO-BREAK SPACE}%{sample}",
        )
    if any(model.mean.shape[1] for model in models):
        waiting = ""
    if waiting:
        figure.note(text=waiting, x=epochs / 2, y=62.5, font={"color": _THEME.muted})
    figure.layout(
        height=height_px,
        meta=": ".join(filter(None, ("Accuracy over epochs", waiting))),
        hovermode="x unified",
        xaxis={
            "title": {"text": "epochs"},
            "range": [0, epochs],
            "nticks": 4,
            "tickformat": ".4g",
            "showgrid": False,
            "unifiedhovertitle": {"text": "epoch %{x:.3g}"},
        },
        yaxis={"title": {"text": "validation accuracy, %"}, "range": [0, 100], "tickvals": QUARTERS},
    )
    return figure


def _scale(curve: FloatArray) -> dict[str, FloatArray]:
    """Return the points of a curve (2, n) in epochs and percent."""
    return {"x": curve[0], "y": 100 * curve[1]}


def draw_rows(rows: Sequence[ResultRow], chance: float, span: Ends, title: str = "") -> Chart:
    """Draw a row of dots for each model, one a seed, with their mean and its interval; without results no trace."""
    figure = Chart("light")
    for place, row in enumerate(rows):
        _name_row(figure, place, row.title, row.result)
        if row.tests:
            tests = [100 * test for test in row.tests]
            ends = None if row.interval is None else (100 * row.interval[0], 100 * row.interval[1])
            hover, words = "%{x:.1f}\N{NO-BREAK SPACE}%", {"name": row.title, "meta": row.result}
            figure.seeds(tests, place, 0.14, (row.color, "circle", row.color), hover, ends, **words)
    _finish_rows(figure, len(rows), chance, span, title or "test accuracy, %     ● one seed     | mean")
    return figure


def _draw_pair(figure: Chart, place: int, title: str, color: str, measured: Measured | None) -> None:
    """Draw the accuracy of one model on original and on shuffled images, with their intervals."""
    if measured is None:
        _name_row(figure, place, title, "")
        return
    pair = [measured.accuracy, measured.shuffled]
    result = f"{percent(pair[0])}, shuffled {percent(pair[1])}"
    _name_row(figure, place, title, result)
    ends = [measure_interval([share], measured.images) for share in pair]
    for x, line in (
        (pair, {"color": _THEME.line, "width": 4}),
        *((interval, {"color": color, "width": 1.5}) for interval in ends),
    ):
        values = [100 * share for share in x]
        figure.add("scatter", x=values, y=[place] * 2, mode="lines", line=line, hoverinfo="skip")
    figure.add(
        "scatter",
        name=title,
        meta=result,
        x=[100 * share for share in pair],
        y=[place] * 2,
        orientation="h",
        mode="markers",
        text=["original images", "shuffled patches"],
        hovertemplate="%{text}: %{x:.1f}\N{NO-BREAK SPACE}%",
        marker={
            "color": [color, _THEME.paper],
            "size": [14, 7 if abs(pair[0] - pair[1]) < 0.02 else 12],
            "line": {"color": color, "width": [0, 2.5]},
        },
    )


def _name_row(figure: Chart, place: int, title: str, result: str) -> None:
    """Write a model's name and its result above its row."""
    for line, (text, color) in enumerate([(result, _THEME.muted), (title, _THEME.ink)], 1):
        at = {"x": 0, "xref": "x domain", "xanchor": "left", "y": place, "yshift": LINE_PX * line}
        figure.note(text=text, font={"color": color}, bgcolor=_THEME.paper, **at)


def _finish_rows(figure: Chart, count: int, chance: float, span: Ends, title: str) -> None:
    """Mark chance beside the dots of every row, and lay the axes out; `span` is the range of the accuracy."""
    low, high = span
    if low <= chance <= high:
        line = {"color": _THEME.muted, "width": 1, "dash": "dot"}
        for place in range(count):
            ends = {"x0": 100 * chance, "x1": 100 * chance, "y0": place - 0.15, "y1": place + 0.15}
            figure.shape(type="line", line=line, **ends)
    ticks = {"tickvals": QUARTERS} if span == (0.0, 1.0) else {"nticks": 4}
    figure.layout(
        height=64 + count * ROW_PX,
        meta="Results",
        margin={"l": 12},
        xaxis={"title": {"text": title}, "range": [100 * low, 100 * high], **ticks},
        yaxis={"range": [count - 0.8, -0.9], "showticklabels": False, "showgrid": False},
    )


def _describe_measurement(measured: Sequence[Racer]) -> str:
    """Describe the images of the comparison and its epochs."""
    first = measured[0].measured if measured else None
    if first is None:
        return "measured at every snapshot and at the end"
    epochs = " to ".join(dict.fromkeys(f"{epoch:.3g}" for epoch in measured_span(measured)))
    return f"{first.images:,} {first.split} images, after {epochs} epochs; lines: 95 % intervals"


def find_interval(accuracies: Sequence[float], images: int) -> Ends | None:
    """Return the 95 % interval of a mean test accuracy over seeds; None for two seeds, where it fills the axis."""
    return None if len(accuracies) in (0, 2) else measure_interval(accuracies, images)


def scale(values: Sequence[float]) -> Ends:
    """Return a range in multiples of 5 % that holds all accuracies; (0, 1) without any."""
    if not values:
        return 0.0, 1.0
    low = max(0, floor((min(values) - ROOM) / STEP))
    high = min(round(1 / STEP), ceil((max(values) + ROOM) / STEP))
    return round(low * STEP, 4), round(high * STEP, 4)
