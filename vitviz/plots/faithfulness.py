"""Draw deletion and insertion curves of several methods, against random orders."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import HEADS, PALETTES, Mode, Palette

CurveValues = NDArray[np.floating[Any]]
# Of the lines by method; orange is attention's colour, and the dotted line is that of random orders.
_COLOURS = tuple(HEADS[i] for i in (2, 3, 1, 0, 5, 6))
_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot", "solid")
_MODES = (*["lines"] * 5, "lines+markers")  # there are fewer dashes than methods
Curves = Mapping[str, tuple[CurveValues, CurveValues]]


def curves_figure(
    fraction: CurveValues,
    curves: Curves,
    random: tuple[CurveValues, CurveValues],
    class_name: str,
    mode: Mode = "light",
) -> Chart:
    """Draw the class probability under deletion (left) and insertion (right) of patches.

    Args:
        fraction: (steps + 1,), share of patches blanked or shown.
        curves: title -> (deletion, insertion), each (steps + 1,).
        random: the same of random orders, each (orders, steps + 1): drawn as their range and mean.
    """
    figure = Chart(mode)
    for side in (0, 1):
        halves = {title: pair[side] for title, pair in curves.items()}
        _add_half(figure, side, 100 * fraction, halves, random[side], PALETTES[mode])
    return figure.with_legend(
        340,
        xaxis={"domain": [0, 0.47], "title": {"text": "patches blanked, %"}},
        xaxis2={"domain": [0.53, 1], "title": {"text": "patches shown, %"}},
        yaxis={
            "range": [0, 1.02],
            "title": {"text": f"probability of {class_name}"},
        },
        yaxis2={"range": [0, 1.02], "anchor": "x2", "showticklabels": False},
    )


def _add_half(
    figure: Chart,
    side: int,
    percent: CurveValues,
    curves: Mapping[str, CurveValues],
    noise: CurveValues,
    palette: Palette,
) -> None:
    """Draw one side's curves over the range of random orders (orders, steps + 1) and their mean."""
    x, y = (("x", "y"), ("x2", "y2"))[side]
    figure.add(
        "scatter",
        x=np.concatenate([percent, percent[::-1]]),
        y=np.concatenate([noise.max(axis=0), noise.min(axis=0)[::-1]]),
        fill="toself",
        fillcolor=palette.line,
        opacity=0.6,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        xaxis=x,
        yaxis=y,
    )
    lines = {"random order": (noise.mean(axis=0), palette.muted, "dot", "lines")} | {
        title: (values, _COLOURS[i], _DASHES[i], _MODES[i])
        for i, (title, values) in enumerate(curves.items())
    }
    for title, (values, color, dash, mode) in lines.items():
        figure.add(
            "scatter",
            x=percent,
            y=values,
            name=title,
            mode=mode,
            line={"color": color, "width": 2, "dash": dash},
            marker={"color": color, "size": 6},
            legendgroup=title,
            showlegend=side == 0,
            hovertemplate="%{y:.2f} at %{x:.0f} %",
            xaxis=x,
            yaxis=y,
        )
