"""Draw the values that LayerNorm and BatchNorm average, and the norm of the residual stream over depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.plots.plotly_dict import PlainFigure
from vitviz.plots.theme import DIVERGING, PALETTES, Mode, colorscale


def norm_figure(tokens: NDArray[Any], token: int, channel: int, mode: Mode = "light") -> go.Figure:
    """Draw a norm's input (tokens, D), with the row of LayerNorm and the column of BatchNorm outlined."""
    palette = PALETTES[mode]
    top = float(np.quantile(np.abs(tokens), 0.99)) or 1.0
    rows, cols = tokens.shape
    figure = PlainFigure(mode)
    figure.add(
        "heatmap",
        z=tokens.astype(np.float32),
        x=np.arange(1, cols + 1),
        y=np.arange(1, rows + 1),
        zmin=-top,
        zmax=top,
        colorscale=colorscale(DIVERGING[mode]),
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate="token %{y}, channel %{x}: %{z:.3f}<extra></extra>",
    )
    for box, color in (
        ((0.5, token + 0.5, cols + 0.5, token + 1.5), palette.ink),
        ((channel + 0.5, 0.5, channel + 1.5, rows + 0.5), palette.primary),
    ):
        figure.shape(
            type="rect", x0=box[0], y0=box[1], x1=box[2], y1=box[3], line={"color": color, "width": 2.5}
        )
    figure.layout(xaxis={"title": {"text": "channel (tall frame: BatchNorm)"}, "showgrid": False})
    figure.layout(
        yaxis={"title": {"text": "token (wide frame: LayerNorm)"}, "autorange": "reversed", "showgrid": False}
    )
    figure.layout(height=300)
    return figure.figure()


def stream_figure(norms: NDArray[Any], token: int, mode: Mode = "light") -> go.Figure:
    """Draw the norm of the residual stream, (depth + 1, tokens): one token, the mean, and the range."""
    palette = PALETTES[mode]
    depth = np.arange(len(norms))
    figure = PlainFigure(mode)
    figure.add(
        "scatter",
        x=np.concatenate([depth, depth[::-1]]),
        y=np.concatenate([norms.max(axis=1), norms.min(axis=1)[::-1]]),
        fill="toself",
        fillcolor=palette.line,
        opacity=0.6,
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        name="all tokens",
    )
    for name, values, color, symbol in (
        ("mean", norms.mean(axis=1), palette.muted, "square"),
        ("this token", norms[:, token], palette.primary, "circle"),
    ):
        figure.add(
            "scatter",
            x=depth,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker={"symbol": symbol, "size": 7},
            hovertemplate="%{y:.2f} after block %{x}<extra>" + name + "</extra>",
        )
    figure.layout(xaxis={"title": {"text": "block"}, "dtick": 1 if len(depth) <= 13 else 4})
    figure.layout(yaxis={"title": {"text": "token norm"}, "rangemode": "tozero"})
    figure.layout(
        height=360, showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    return figure.figure()
