"""Fine-tuning as images: what is kept, the live race, how far weights move, accuracy as images grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve
from vitviz.analysis.fine_tuning import Group, in_order, mean_curve
from vitviz.plots import theme
from vitviz.plots.blob import pack
from vitviz.plots.data_size import LEGEND, full_axis, sizes_axis, span
from vitviz.plots.plotly_dict import PlainFigure
from vitviz.plots.ticks import log_axis

COLOURS = {
    "tuned": theme.HEADS[5],
    "frozen": theme.HEADS[2],
    "scratch": theme.HEADS[7],
    "longer": theme.HEADS[1],
}
MARKS = (0, 50, 80, 90, 95, 98, 99, 99.5)  # accuracies that a logarithmic axis of mistakes names, in percent
FEWEST_WRONG = 0.4  # percent, where that axis ends: on the digits one image of 359 is 0.3
SYMBOLS = {"tuned": "circle", "frozen": "diamond", "scratch": "square", "longer": "triangle-up"}


@dataclass(frozen=True)
class Part:
    """A part of the new model: how many numbers it has, the shape of its largest table now and before, its fate."""

    title: str
    count: int
    shape: tuple[int, ...]
    before: tuple[int, ...] | None
    fate: str  # kept, new or resized


def plan(
    parts: Sequence[Part],
    positions: tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]] | None,
    grids: tuple[tuple[int, int], tuple[int, int]] | None,
    frozen: bool = False,
) -> bytes:
    """Return what is kept, new and resized, for `plan_view`.

    Args:
        parts: in the order of the data.
        positions: cosines of all pairs before (N, N) and after (M, M), where positions are resized.
        grids: rows and columns before and after, where positions are resized.
        frozen: the head alone learns.
    """
    header = {
        "parts": [
            {
                "title": part.title,
                "count": part.count,
                "shape": " × ".join(map(str, part.shape)),
                "before": None if part.before is None else " × ".join(map(str, part.before)),
                "fate": part.fate,
            }
            for part in parts
        ],
        "frozen": frozen,
        "grids": None if grids is None else [list(grid) for grid in grids],
    }
    arrays = {}
    if positions is not None:
        for name, cosines in zip(("before", "after"), positions, strict=True):
            arrays[name] = np.round((np.clip(cosines, -1, 1) + 1) * 127.5).astype(np.uint8)
    return pack(header, **arrays)


def learning(groups: Sequence[Group], chance: float, epochs: float, waiting: str) -> bytes:
    """Return the live race, for `learning_view`: every seed's curve, their mean, and the test accuracies.

    Args:
        groups: tuned and from scratch.
        chance: accuracy of guessing, in [0, 1].
        epochs: of the whole run, which fixes the axis.
        waiting: said where nothing was measured yet.
    """
    header = {
        "groups": [
            {
                "name": group.name,
                "title": group.title,
                "color": COLOURS[group.name],
                "seeds": len(group.curves),
                "tests": list(group.tests),
            }
            for group in groups
        ],
        "chance": chance,
        "epochs": epochs,
        "waiting": waiting,
    }
    arrays: dict[str, NDArray[np.float32]] = {}
    for i, group in enumerate(groups):
        arrays[f"mean{i}"] = mean_curve(group.curves).astype(np.float32)
        for seed, curve in enumerate(group.curves):
            arrays[f"curve{i}_{seed}"] = curve.astype(np.float32)
    return pack(header, **arrays)


def moved_figure(
    found: Mapping[str, Mapping[str, float]], titles: Mapping[str, str], mode: theme.Mode
) -> go.Figure:
    """Return how far each part has moved, in percent of its own length at the start, on a logarithmic axis.

    Args:
        found: by name of the model, by part; a part that has not moved has no bar.
        titles: of the models.
    """
    figure = PlainFigure(mode)
    every = in_order(dict.fromkeys(part for parts in found.values() for part in parts))
    for name, parts in found.items():
        figure.add(
            "scatter",
            x=every,
            y=[100 * parts[part] if parts.get(part) else None for part in every],
            mode="lines+markers",
            name=titles[name],
            line={"color": COLOURS[name], "width": 2.5},
            marker={"color": COLOURS[name], "symbol": SYMBOLS[name], "size": 9},
            hovertemplate=f"{titles[name]}, %{{x}}: %{{y:.2f}} %<extra></extra>",
        )
    drawn = [100 * share for parts in found.values() for share in parts.values() if share]
    figure.layout(
        height=360,
        showlegend=True,
        legend=LEGEND,
        yaxis={"title": {"text": "moved by, % of its length"}, **log_axis(drawn or [1.0])},
    )
    return figure.figure()


def grown_figure(curves: Sequence[Curve], sizes: Sequence[int], chance: float, mode: theme.Mode) -> go.Figure:
    """Test accuracy over images a class, a line a way with the span of its seeds; `sizes` are the axis's ticks.

    Its height is the logarithm of the mistakes: half as many are the same step near 60 % and near 98 %, where lines
    cross that lie within a point.
    """
    figure = PlainFigure(mode)
    figure.hline(100 * (1 - chance), {"color": theme.PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for curve in curves:
        bars = span(curve, COLOURS[curve.name])
        figure.add(
            "scatter",
            name=curve.title,
            x=curve.pictures.tolist(),
            y=(100 * (1 - curve.mean)).clip(FEWEST_WRONG).tolist(),
            customdata=(100 * curve.mean).tolist(),
            mode="lines+markers",
            line={"color": COLOURS[curve.name], "width": 2.5},
            marker={"color": COLOURS[curve.name], "symbol": SYMBOLS[curve.name], "size": 9},
            error_y=bars | {"array": bars["arrayminus"], "arrayminus": bars["array"]},
            hovertemplate=f"{curve.title}, %{{x}} a class: %{{customdata:.1f}} %<extra></extra>",
        )
    figure.layout(
        height=420,
        showlegend=True,
        legend=LEGEND,
        xaxis=sizes_axis(sizes, "training images of each class") | {"range": full_axis(sizes)},
        yaxis={
            "type": "log",
            "title": {"text": "accuracy on the test images, %"},
            "range": [2.0, log10(FEWEST_WRONG)],
            "tickvals": [100 - accuracy for accuracy in MARKS],
            "ticktext": [f"{accuracy:g}" for accuracy in MARKS],
        },
    )
    return figure.figure()
