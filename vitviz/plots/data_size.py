"""Accuracy against training pictures, and against training time, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve, FloatArray
from vitviz.plots import race
from vitviz.plots.plain import PlainFigure
from vitviz.plots.theme import PALETTES, Mode

ORDER = ("cnn", "hybrid", "swin", "vit", "deit")
COLOURS = dict(zip(ORDER, race.COLOURS, strict=False))  # as they race
SYMBOLS = {"cnn": "square", "hybrid": "diamond", "swin": "triangle-up", "vit": "circle", "deit": "cross"}
HEIGHT_PX = 440
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}}


@dataclass(frozen=True)
class Own:
    """A point that the visitor's own run has made."""

    name: str
    title: str
    pictures: int
    accuracy: float


def size_figure(
    curves: Sequence[Curve], chance: float, what: str, own: Sequence[Own] = (), mode: Mode = "light"
) -> go.Figure:
    """Accuracy over the number of training pictures, on a logarithmic axis, a line a model with the span of its seeds.

    Args:
        curves: in their order.
        chance: accuracy of guessing, in [0, 1].
        what: the vertical axis's title, its unit left out.
        own: a visitor's own points, drawn as stars.
    """
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for curve in curves:
        _line(
            figure,
            curve.name,
            curve.title,
            curve.pictures,
            curve.mean,
            "pictures",
            error_y=span(curve, COLOURS[curve.name]),
        )
    for point in own:
        _star(figure, point, PALETTES[mode].ink)
    sizes = sorted({int(size) for curve in curves for size in curve.pictures})
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sizes, "training pictures"),
        yaxis={"title": {"text": f"{what}, %"}, "rangemode": "tozero"},
    )
    return figure.figure()


def _line(
    figure: PlainFigure,
    name: str,
    title: str,
    x: NDArray[Any],
    share: FloatArray,
    unit: str,
    said: str = "%{y:.1f} %",
    **more: Any,
) -> None:
    """One model's line of accuracies."""
    figure.add(
        "scatter",
        name=title,
        x=x.tolist(),
        y=(100 * share).tolist(),
        mode="lines+markers",
        line={"color": COLOURS[name], "width": 2.5},
        marker={"color": COLOURS[name], "symbol": SYMBOLS[name], "size": 9},
        hovertemplate=f"{title}, %{{x:,}} {unit}: {said}<extra></extra>",
        **more,
    )


def span(curve: Curve, colour: str) -> dict[str, Any]:
    """From the lowest to the highest seed, as Plotly's error bars, in percent."""
    return {
        "type": "data",
        "symmetric": False,
        "array": (100 * (curve.high - curve.mean)).tolist(),
        "arrayminus": (100 * (curve.mean - curve.low)).tolist(),
        "color": colour,
        "thickness": 1.5,
        "width": 5,
    }


def _star(figure: PlainFigure, point: Own, ink: str) -> None:
    figure.add(
        "scatter",
        showlegend=False,
        x=[point.pictures],
        y=[100 * point.accuracy],
        mode="markers",
        marker={
            "color": COLOURS[point.name],
            "symbol": "star",
            "size": 17,
            "line": {"color": ink, "width": 1.5},
        },
        hovertemplate=f"your {point.title}, %{{x:,}} pictures: %{{y:.1f}} %<extra></extra>",
    )


def sizes_axis(sizes: Sequence[float], title: str, unit: str = "") -> dict[str, Any]:
    """A logarithmic axis with a tick for every size."""
    return {
        "type": "log",
        "tickvals": list(sizes),
        "ticktext": [f"{size:,}{unit}" for size in sizes],
        "title": {"text": title},
    }


def time_figure(
    lines: Mapping[str, tuple[str, FloatArray]], chance: float, mode: Mode = "light"
) -> go.Figure:
    """Validation accuracy over the processor's seconds of training.

    Args:
        lines: by model its title and (2, n): core-seconds and accuracy, means over the seeds.
        chance: accuracy of guessing, in [0, 1].
    """
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for name, (title, (seconds, accuracy)) in lines.items():
        _line(figure, name, title, seconds.round(1), accuracy, "s")
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis={"title": {"text": "seconds of one core"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "accuracy on the validation pictures, %"}, "rangemode": "tozero"},
    )
    return figure.figure()


def pretraining_figure(
    lines: Mapping[str, Sequence[float | None]], sizes_million: Sequence[float], mode: Mode = "light"
) -> go.Figure:
    """Published ImageNet accuracy, in percent, over the millions of pictures that a model was trained on before.

    The first line is the convolutional network's, dashed.
    """
    figure = PlainFigure(mode)
    for index, (title, values) in enumerate(lines.items()):
        colour = race.COLOURS[index]
        figure.add(
            "scatter",
            name=title,
            x=list(sizes_million),
            y=list(values),
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": "solid" if index else "dash"},
            marker={"color": colour, "symbol": "circle" if index else "square", "size": 9},
            hovertemplate=f"{title}, %{{x}} M pictures: %{{y:.2f}} %<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sizes_million, "pictures of the pre-training", " M"),
        yaxis={"title": {"text": "ImageNet accuracy after fine-tuning, %"}},
    )
    return figure.figure()


def gain_figure(gains: Sequence[Curve], mode: Mode = "light") -> go.Figure:
    """What augmentation gives every model, in points, over the number of training pictures."""
    figure = PlainFigure(mode)
    figure.hline(0, {"color": PALETTES[mode].muted, "width": 1.5})
    for gain in gains:
        _line(
            figure,
            gain.name,
            gain.title,
            gain.pictures,
            gain.mean,
            "pictures",
            error_y=span(gain, COLOURS[gain.name]),
        )
    figure.layout(
        height=360,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(
            sorted({int(size) for gain in gains for size in gain.pictures}), "training pictures"
        ),
        yaxis={"title": {"text": "augmented less plain, points"}},
    )
    return figure.figure()
