"""Draw the values that LayerNorm and BatchNorm average, and the norm of the residual stream over depth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import DIVERGING, PALETTES, Mode, colorscale


def norm_figure(tokens: NDArray[Any], token: int, channel: int, mode: Mode = "light") -> Chart:
    """Draw a norm's input (tokens, D), with the row of LayerNorm and the column of BatchNorm outlined."""
    figure = draw_tokens(tokens, token, mode)
    line = {"color": PALETTES[mode].primary, "width": 2.5}
    figure.shape(type="rect", x0=channel + 0.5, y0=0.5, x1=channel + 1.5, y1=len(tokens) + 0.5, line=line)
    figure.layout(
        height=300,
        xaxis={"title": {"text": "channel (tall frame: BatchNorm)"}},
        yaxis={"title": {"text": "token (wide frame: LayerNorm)"}},
    )
    return figure


def draw_tokens(tokens: NDArray[Any], token: int, mode: Mode) -> Chart:
    """Draw the tokens (N, D), one row each, and outline the row of one."""
    top = float(np.quantile(np.abs(tokens), 0.99)) or 1.0
    rows, cols = tokens.shape
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=tokens.astype(np.float32),
        x=np.arange(1, cols + 1),
        y=np.arange(1, rows + 1),
        zmin=-top,
        zmax=top,
        colorscale=colorscale(DIVERGING[mode]),
        colorbar={"thickness": 8, "outlinewidth": 0},
        hovertemplate="token %{y}, channel %{x}: %{z:.3f}",
    )
    line = {"color": PALETTES[mode].ink, "width": 2.5}
    figure.shape(type="rect", x0=0.5, y0=token + 0.5, x1=cols + 0.5, y1=token + 1.5, line=line)
    figure.layout(
        xaxis={"title": {"text": "channel"}, "showgrid": False},
        yaxis={"title": {"text": "token"}, "autorange": "reversed", "showgrid": False},
    )
    return figure


def stream_figure(norms: NDArray[Any], token: int, mode: Mode = "light") -> Chart:
    """Draw the norm of the residual stream, (depth + 1, tokens): one token, the mean, and the range."""
    palette = PALETTES[mode]
    depth = np.arange(len(norms))
    figure = Chart(mode)
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
        figure.curve(name, depth, values, (color, symbol), "%{y:.2f} after block %{x}")
    return figure.with_legend(
        360,
        xaxis={"title": {"text": "block"}, "dtick": 1 if len(depth) <= 13 else 4},
        yaxis={"title": {"text": "token norm"}, "rangemode": "tozero"},
    )
