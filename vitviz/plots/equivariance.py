"""How far every layer is from moving along with its picture, over depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from vitviz.plots.plain import PlainFigure
from vitviz.plots.theme import Mode, head_color

HEIGHT = 340


def errors_figure(lines: Mapping[str, Sequence[tuple[str, float]]], mode: Mode = "light") -> go.Figure:
    """One line a model over its own depth, from its first layer to its last.

    Args:
        lines: name -> (layer, error), in order of depth.
    """
    figure = PlainFigure(mode)
    for i, (name, points) in enumerate(lines.items()):
        color, last = head_color(i, len(lines)), max(1, len(points) - 1)
        figure.add(
            "scatter",
            x=[at / last for at in range(len(points))],
            y=[error for _, error in points],
            mode="lines+markers",
            line={"color": color, "width": 2.5},
            marker={"color": color, "size": 7},
            name=name,
            customdata=[layer for layer, _ in points],
            hovertemplate="%{customdata}: %{y:.3f}<extra>" + name + "</extra>",
        )
    figure.layout(
        height=HEIGHT,
        showlegend=True,
        legend={"orientation": "h", "y": 1.16, "x": 0},
        xaxis={
            "title": {"text": "depth"},
            "tickvals": [0, 1],
            "ticktext": ["first layer", "last layer"],
            "showgrid": False,
        },
        yaxis={"title": {"text": "error e"}, "rangemode": "tozero"},
    )
    return figure.figure()
