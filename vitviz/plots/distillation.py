"""A student's two tokens over depth, and the table of who decides differently from whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from vitviz.plots.theme import PALETTES, SEQUENTIAL, Mode, colorscale, layout


def similarity_figure(
    similarity: NDArray[np.float64], start: NDArray[np.float64] | None, block: int, mode: Mode = "light"
) -> go.Figure:
    """Cosine of [CLS] and [DIST] over depth, (depth + 1,) from the input on; `start` the same at random weights.

    Args:
        block: the chosen block, from 1; its dot is filled.
    """
    palette = PALETTES[mode]
    depth = np.arange(len(similarity))
    figure = go.Figure(layout=layout(mode))
    figure.add_hline(y=0, line={"color": palette.line, "width": 1})
    if start is not None:
        figure.add_scatter(
            x=depth,
            y=start,
            mode="lines+text",
            line={"color": palette.muted, "width": 1.5, "dash": "dot"},
            text=["", "before training"] + [""] * (len(depth) - 2),
            textposition="top right",
            textfont={"color": palette.muted},
            hovertemplate="before training, after block %{x}: %{y:.3f}<extra></extra>",
        )
    figure.add_scatter(
        x=depth,
        y=similarity,
        mode="lines+markers",
        line={"color": palette.primary, "width": 2},
        marker={
            "size": 9,
            "color": [palette.primary if at == block else palette.paper for at in depth],
            "line": {"color": palette.primary, "width": 2},
        },
        hovertemplate="after block %{x}: %{y:.3f}<extra></extra>",
    )
    figure.update_xaxes(title_text="block (0: the two tokens as they enter)", dtick=1, showgrid=False)
    figure.update_yaxes(
        title_text="cosine of [CLS] and [DIST]", range=[-1.05, 1.3], tickvals=[-1, -0.5, 0, 0.5, 1]
    )
    figure.update_layout(height=300, showlegend=False)
    return figure


def disagreement_figure(
    names: Sequence[str], differs: NDArray[np.float64], mode: Mode = "light"
) -> go.Figure:
    """Share of pictures decided differently by every pair of classifiers, (n, n), as a table of tiles."""
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, 100 * differs)
    top = float(np.nanmax(shown))
    figure = go.Figure(layout=layout(mode))
    figure.add_heatmap(
        z=shown,
        x=list(names),
        y=list(names),
        zmin=0,
        zmax=top,
        xgap=2,
        ygap=2,
        colorscale=colorscale(SEQUENTIAL),
        showscale=False,
        hovertemplate="%{y} and %{x} differ on %{z:.1f} % of the pictures<extra></extra>",
    )
    for row, values in enumerate(shown):
        for column, value in enumerate(values):
            if np.isfinite(value):
                figure.add_annotation(
                    x=column,
                    y=row,
                    text=f"{value:.1f}",
                    showarrow=False,
                    font={"color": "#10151C" if value > 0.55 * top else "#FFFFFF", "size": 13},
                )
    figure.update_xaxes(side="top", showgrid=False, tickangle=0)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(height=48 * len(names) + 80)
    return figure
