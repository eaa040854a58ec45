"""Figures of why norms and residual connections are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.analysis.gradients import Norms
from vitviz.plots.plain import PlainFigure
from vitviz.plots.race import COLOURS
from vitviz.plots.theme import DIVERGING, PALETTES, Mode, colorscale

HEIGHT_PX = 420
SYMBOLS = ("circle", "square", "diamond", "cross")
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}}
GAP = 0.02  # between the panels of the norms, of the whole width


def gradient_figure(found: Sequence[Norms], mode: Mode = "light") -> go.Figure:
    """Gradient norm over blocks on a logarithmic axis, a line a variant, with the span of its seeds."""
    figure = PlainFigure(mode)
    for one, colour, symbol in zip(found, COLOURS[1:], SYMBOLS, strict=False):
        blocks = list(range(1, len(one.mean) + 1))
        figure.add(
            "scatter",
            name=one.title,
            x=blocks,
            y=one.mean.tolist(),
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": (one.high - one.mean).tolist(),
                "arrayminus": (one.mean - one.low).tolist(),
                "color": colour,
                "thickness": 1.5,
                "width": 4,
            },
            hovertemplate=f"{one.title}, block %{{x}}: %{{y:.3g}}<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis={"title": {"text": "block, from the picture to the head"}, "dtick": 1},
        yaxis={"title": {"text": "norm of the gradient"}, "type": "log", "exponentformat": "power"},
    )
    return figure.figure()


def norms_figure(
    tokens: NDArray[np.floating],
    members: Mapping[str, NDArray[np.bool_]],
    at: tuple[int, int, int],
    mode: Mode = "light",
) -> go.Figure:
    """The same numbers once for each norm, all but those that share a mean with the asked one dimmed.

    Args:
        tokens: (B, N, D) that are drawn: pictures below one another, a row a token, a column a channel.
        members: by the norm's title (B, N, D).
        at: (picture, token, channel) of the asked number.
    """
    palette, figure = PALETTES[mode], PlainFigure(mode)
    pictures, count, channels = tokens.shape
    rows = tokens.reshape(pictures * count, channels)
    top = float(np.abs(rows).max()) or 1.0
    wide = (1 - GAP * (len(members) - 1)) / len(members)
    axes = {}
    for place, (title, inside) in enumerate(members.items()):
        axis = "" if place == 0 else str(place + 1)
        left = place * (wide + GAP)
        figure.add(
            "heatmap",
            z=rows.tolist(),
            xaxis=f"x{axis}",
            yaxis="y",
            zmin=-top,
            zmax=top,
            colorscale=colorscale(DIVERGING),
            showscale=place == len(members) - 1,
            colorbar={"thickness": 10, "len": 0.6, "outlinewidth": 0},
            hovertemplate=f"{title}: row %{{y}}, channel %{{x}}: %{{z:.2f}}<extra></extra>",
        )
        dimmed = np.where(inside.reshape(rows.shape), np.nan, 1.0)
        figure.add(
            "heatmap",
            z=[[None if np.isnan(value) else value for value in row] for row in dimmed],
            xaxis=f"x{axis}",
            yaxis="y",
            colorscale=[(0, palette.paper), (1, palette.paper)],
            opacity=0.78,
            showscale=False,
            hoverinfo="skip",
        )
        figure.shape(
            type="rect",
            xref=f"x{axis}",
            x0=at[2] - 0.5,
            x1=at[2] + 0.5,
            y0=at[0] * count + at[1] - 0.5,
            y1=at[0] * count + at[1] + 0.5,
            line={"color": palette.query, "width": 2.5},
        )
        for picture in range(1, pictures):
            edge = picture * count - 0.5
            figure.shape(
                type="line",
                xref=f"x{axis}",
                x0=-0.5,
                x1=channels - 0.5,
                y0=edge,
                y1=edge,
                line={"color": palette.ink, "width": 1.5},
            )
        axes[f"xaxis{axis}"] = {
            "domain": [left, left + wide],
            "anchor": "y",
            "title": {"text": title},
            "showticklabels": False,
            "showgrid": False,
            "automargin": True,
        }
    ticks = [picture * count + (count - 1) / 2 for picture in range(pictures)]
    figure.layout(
        height=HEIGHT_PX,
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "tickvals": ticks,
            "ticktext": [f"picture {picture + 1}" for picture in range(pictures)],
        },
        **axes,
    )
    return figure.figure()
