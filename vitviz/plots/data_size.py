"""Draw accuracy over the number of training images, and over training time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve, FloatArray, Lines
from vitviz.plots.plotly_dict import PlainFigure
from vitviz.plots.theme import FAMILIES, PALETTES, Mode, family_colors
from vitviz.plots.theme import SYMBOLS as SHAPES

ORDER = ("cnn", "hybrid", "swin", "vit", "deit")
COLOURS = FAMILIES
SYMBOLS = {"cnn": "square", "hybrid": "diamond", "swin": "triangle-up", "vit": "circle", "deit": "cross"}
HEIGHT_PX = 440
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}}


@dataclass(frozen=True)
class Own:
    """A point measured by a run of the user."""

    name: str
    title: str
    pictures: int
    accuracy: float


def size_figure(
    curves: Sequence[Curve],
    sizes: Sequence[int],
    chance: float,
    what: str,
    own: Sequence[Own] = (),
    mode: Mode = "light",
) -> go.Figure:
    """Draw accuracy over the number of training images, one line per model with the span of its seeds.

    A line is dotted over sizes that were not measured; with one seed per point there is no span.

    Args:
        curves: in their order.
        sizes: ticks of the axis, ascending, with every size of the curves.
        chance: accuracy of guessing, in [0, 1].
        what: title of the vertical axis, without its unit.
        own: points of the user's runs, drawn as stars.
    """
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for curve in curves:
        _over_sizes(figure, curve, sizes)
    for point in own:
        _star(figure, point, PALETTES[mode].ink)
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sizes, "training images") | {"range": full_axis(sizes)},
        yaxis={"title": {"text": f"{what}, %"}, "rangemode": "tozero"},
    )
    return figure.figure()


def full_axis(sizes: Sequence[float]) -> list[float]:
    """Return the range of the whole axis, so that it does not change when curves are added."""
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    room = 0.04 * (high - low) or 0.5
    return [low - room, high + room]


def _over_sizes(figure: PlainFigure, curve: Curve, sizes: Sequence[int]) -> None:
    """Draw one model's line, dotted over sizes that were not measured."""
    within = [size for size in sizes if curve.pictures[0] <= size <= curve.pictures[-1]]
    places = [curve.find_size(size) for size in within]
    if None in places:
        figure.add(
            "scatter",
            x=curve.pictures.tolist(),
            y=(100 * curve.mean).tolist(),
            mode="lines",
            line={"color": COLOURS[curve.name], "width": 1.5, "dash": "dot"},
            showlegend=False,
            hoverinfo="skip",
        )
    shares = np.array([np.nan if at is None else curve.mean[at] for at in places])
    more: dict[str, Any] = (
        {} if curve.seeds.max() == 1 else {"error_y": span(curve, COLOURS[curve.name], places)}
    )
    _line(figure, curve.name, curve.title, np.array(within), shares, "images", **more)


def _line(
    figure: PlainFigure,
    name: str,
    title: str,
    x: NDArray[Any],
    share: FloatArray,
    unit: str,
    hover_value: str = "%{y:.1f} %",
    **more: Any,
) -> None:
    figure.add(
        "scatter",
        name=title,
        x=x.tolist(),
        y=[100 * value if math.isfinite(value) else None for value in share.tolist()],
        mode="lines+markers",
        line={"color": COLOURS[name], "width": 2.5},
        marker={"color": COLOURS[name], "symbol": SYMBOLS[name], "size": 9},
        hovertemplate=f"{title}, %{{x:,}} {unit}: {hover_value}<extra></extra>",
        **more,
    )


def span(curve: Curve, colour: str, places: Sequence[int | None] | None = None) -> dict[str, Any]:
    """Return Plotly error bars from the lowest to the highest seed, in percent.

    Args:
        places: indices of the drawn points, None for a gap; by default all.
    """
    at = range(len(curve.mean)) if places is None else places
    ends = {"array": curve.high - curve.mean, "arrayminus": curve.mean - curve.low}
    return {
        "type": "data",
        "symmetric": False,
        **{name: [0.0 if i is None else 100 * float(values[i]) for i in at] for name, values in ends.items()},
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
        hovertemplate=f"your {point.title}, %{{x:,}} images: %{{y:.1f}} %<extra></extra>",
    )


def sizes_axis(sizes: Sequence[float], title: str, unit: str = "") -> dict[str, Any]:
    """Return a logarithmic axis with a tick for every size."""
    return {
        "type": "log",
        "tickvals": list(sizes),
        "ticktext": [f"{size:,}{unit}" for size in sizes],
        "title": {"text": title},
    }


def time_figure(lines: Lines, chance: float, mode: Mode = "light", points: int | None = None) -> go.Figure:
    """Draw validation accuracy over core-seconds of training.

    Args:
        lines: by model, means over the seeds.
        chance: accuracy of guessing, in [0, 1].
        points: number of points drawn of each line, None for all; the axes are those of all.
    """
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for name, (title, (seconds, accuracy)) in lines.items():
        _line(figure, name, title, seconds[:points].round(1), accuracy[:points], "s")
    longest = max((float(line[0, -1]) for _, line in lines.values()), default=1.0)
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis={"title": {"text": "core-seconds"}, "range": [0, 1.04 * longest]},
        yaxis={"title": {"text": "validation accuracy, %"}, "range": [0, 102]},
    )
    return figure.figure()


def pretraining_figure(
    lines: Mapping[str, Sequence[float | None]], sizes_million: Sequence[float], mode: Mode = "light"
) -> go.Figure:
    """Draw published ImageNet accuracy, in percent, over the millions of images that a model was trained on before.

    The first line is the CNN, dashed with squares.
    """
    figure = PlainFigure(mode)
    symbols = sorted(SHAPES, key=lambda symbol: symbol != "square")
    colours = family_colors(["cnn", *["vit"] * (len(lines) - 1)])
    for index, (title, values) in enumerate(lines.items()):
        colour, symbol = colours[index], symbols[index]
        figure.add(
            "scatter",
            name=title,
            x=list(sizes_million),
            y=list(values),
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": "solid" if index else "dash"},
            marker={"color": colour, "symbol": symbol, "size": 9},
            hovertemplate=f"{title}, %{{x}} M images: %{{y:.2f}} %<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sizes_million, "pre-training images", " M"),
        yaxis={"title": {"text": "ImageNet accuracy after fine-tuning, %"}},
    )
    return figure.figure()


def gain_figure(gains: Sequence[Curve], mode: Mode = "light") -> go.Figure:
    """Draw the gain from augmentation, in points, over the number of training images."""
    figure = PlainFigure(mode)
    figure.hline(0, {"color": PALETTES[mode].muted, "width": 1.5})
    for gain in gains:
        more: dict[str, Any] = {} if gain.seeds.max() == 1 else {"error_y": span(gain, COLOURS[gain.name])}
        _line(
            figure,
            gain.name,
            gain.title,
            gain.pictures,
            gain.mean,
            "images",
            hover_value="%{y:+.1f} points",
            **more,
        )
    figure.layout(
        height=360,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sorted({int(size) for gain in gains for size in gain.pictures}), "training images"),
        yaxis={"title": {"text": "augmented minus unaugmented, points"}},
    )
    return figure.figure()
