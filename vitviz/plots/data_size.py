"""Accuracy against training pictures, and against training time, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve
from vitviz.plots import race
from vitviz.plots.plain import PlainFigure
from vitviz.plots.theme import PALETTES, Mode

ORDER = ("cnn", "hybrid", "swin", "vit", "deit")
COLOURS = dict(zip(ORDER, race.COLOURS, strict=False))  # as they race
SYMBOLS = {"cnn": "square", "hybrid": "diamond", "swin": "triangle-up", "vit": "circle", "deit": "cross"}
HEIGHT_PX = 440


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
        what: the vertical axis's title, its unit left out.
        own: a visitor's own points, drawn as stars.
    """
    palette = PALETTES[mode]
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": palette.muted, "width": 1, "dash": "dot"})
    for curve in curves:
        colour = COLOURS[curve.name]
        figure.add(
            "scatter",
            name=curve.title,
            x=curve.pictures.tolist(),
            y=(100 * curve.mean).tolist(),
            error_y={
                "type": "data",
                "symmetric": False,
                "array": (100 * (curve.high - curve.mean)).tolist(),
                "arrayminus": (100 * (curve.mean - curve.low)).tolist(),
                "color": colour,
                "thickness": 1.5,
                "width": 5,
            },
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            marker={"color": colour, "symbol": SYMBOLS[curve.name], "size": 9},
            hovertemplate=f"{curve.title}, %{{x:,}} pictures: %{{y:.1f}} %<extra></extra>",
        )
    for point in own:
        figure.add(
            "scatter",
            name=f"{point.title}, yours",
            showlegend=False,
            x=[point.pictures],
            y=[100 * point.accuracy],
            mode="markers",
            marker={
                "color": COLOURS[point.name],
                "symbol": "star",
                "size": 17,
                "line": {"color": palette.ink, "width": 1.5},
            },
            hovertemplate=f"your {point.title}, %{{x:,}} pictures: %{{y:.1f}} %<extra></extra>",
        )
    sizes = sorted({int(size) for curve in curves for size in curve.pictures})
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        hovermode="closest",
        xaxis={
            "type": "log",
            "tickvals": sizes,
            "ticktext": [f"{size:,}" for size in sizes],
            "title": {"text": "training pictures"},
        },
        yaxis={"title": {"text": f"{what}, %"}, "rangemode": "tozero"},
    )
    return figure.figure()


def time_figure(
    lines: Mapping[str, tuple[str, NDArray[np.float64]]], chance: float, mode: Mode = "light"
) -> go.Figure:
    """Validation accuracy over the processor's seconds of training.

    Args:
        lines: by model its title and (2, n): core-seconds and accuracy, means over the seeds.
    """
    palette = PALETTES[mode]
    figure = PlainFigure(mode)
    figure.hline(100 * chance, {"color": palette.muted, "width": 1, "dash": "dot"})
    for name, (title, (seconds, accuracy)) in lines.items():
        figure.add(
            "scatter",
            name=title,
            x=seconds.tolist(),
            y=(100 * accuracy).tolist(),
            mode="lines+markers",
            line={"color": COLOURS[name], "width": 2.5},
            marker={"color": COLOURS[name], "symbol": SYMBOLS[name], "size": 8},
            hovertemplate=f"{title} after %{{x:.1f}} s: %{{y:.1f}} %<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        xaxis={"title": {"text": "seconds of one core"}, "rangemode": "tozero"},
        yaxis={"title": {"text": "accuracy on the validation pictures, %"}, "rangemode": "tozero"},
    )
    return figure.figure()


def pretraining_figure(
    lines: Mapping[str, Sequence[float]], sizes_million: Sequence[float], mode: Mode = "light"
) -> go.Figure:
    """Published ImageNet accuracy, in percent, over the millions of pictures that a model was trained on before."""
    palette = PALETTES[mode]
    figure = PlainFigure(mode)
    for index, (title, values) in enumerate(lines.items()):
        convolutional = title.startswith("BiT")
        colour = COLOURS["cnn"] if convolutional else race.COLOURS[index]
        figure.add(
            "scatter",
            name=title,
            x=list(sizes_million),
            y=list(values),
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": "dash" if convolutional else "solid"},
            marker={"color": colour, "symbol": "square" if convolutional else "circle", "size": 9},
            hovertemplate=f"{title}, %{{x}} M pictures: %{{y:.2f}} %<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend={
            "orientation": "h",
            "y": 1.02,
            "yanchor": "bottom",
            "x": 0,
            "font": {"size": 14, "color": palette.ink},
        },
        xaxis={
            "type": "log",
            "tickvals": list(sizes_million),
            "ticktext": [f"{size:g} M" for size in sizes_million],
            "title": {"text": "pictures of the pre-training"},
        },
        yaxis={"title": {"text": "ImageNet accuracy after fine-tuning, %"}},
    )
    return figure.figure()


def gain_figure(gains: Sequence[tuple[str, str, int, float]], mode: Mode = "light") -> go.Figure:
    """What augmentation gives, in points, over the number of training pictures.

    Args:
        gains: (model, title, pictures, difference of accuracies).
    """
    palette = PALETTES[mode]
    figure = PlainFigure(mode)
    figure.hline(0, {"color": palette.muted, "width": 1.5})
    for name in dict.fromkeys(gain[0] for gain in gains):
        own = [gain for gain in gains if gain[0] == name]
        figure.add(
            "scatter",
            name=own[0][1],
            x=[size for _, _, size, _ in own],
            y=[100 * by for *_, by in own],
            mode="lines+markers",
            line={"color": COLOURS[name], "width": 2.5},
            marker={"color": COLOURS[name], "symbol": SYMBOLS[name], "size": 9},
            hovertemplate=f"{own[0][1]}, %{{x:,}} pictures: %{{y:+.1f}} points<extra></extra>",
        )
    sizes = sorted({size for _, _, size, _ in gains})
    figure.layout(
        height=360,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}},
        xaxis={
            "type": "log",
            "tickvals": sizes,
            "ticktext": [f"{size:,}" for size in sizes],
            "title": {"text": "training pictures"},
        },
        yaxis={"title": {"text": "augmented less plain, points"}},
    )
    return figure.figure()
