"""Draw deletion and insertion curves of several methods, against random orders."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import HEADS, PALETTES, Mode, Palette

Line = NDArray[np.floating[Any]]
_DASHES = ("solid", "dash", "dashdot", "longdash")  # the dotted line is that of random orders
Curves = Mapping[str, tuple[Line, Line]]


def curves_figure(
    fraction: Line,
    curves: Curves,
    random: tuple[Line, Line],
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
    figure: Chart, side: int, percent: Line, curves: Mapping[str, Line], noise: Line, palette: Palette
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
    lines = {"random order": (noise.mean(axis=0), palette.muted, "dot")} | {
        title: (values, HEADS[(2, 3, 4, 1)[i % 4]], _DASHES[i % 4])
        for i, (title, values) in enumerate(curves.items())
    }
    for title, (values, color, dash) in lines.items():
        figure.add(
            "scatter",
            x=percent,
            y=values,
            name=title,
            mode="lines",
            line={"color": color, "width": 2, "dash": dash},
            legendgroup=title,
            showlegend=side == 0,
            hovertemplate="%{y:.2f} at %{x:.0f} %",
            xaxis=x,
            yaxis=y,
        )
