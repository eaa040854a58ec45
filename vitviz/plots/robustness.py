"""Draw accuracy over the strength of an image change, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from vitviz.plots.data_size import HEIGHT_PX, LEGEND
from vitviz.plots.plotly_dict import PlainFigure
from vitviz.plots.scoreboard import FAMILY, SYMBOLS
from vitviz.plots.theme import PALETTES, Mode


def robustness_figure(
    accuracy: Mapping[str, Sequence[float]], strengths: Sequence[str], neutral: int, mode: Mode = "light"
) -> go.Figure:
    """Draw test accuracy over strengths, evenly spaced.

    Args:
        accuracy: by family, in [0, 1], one per strength.
        strengths: in words.
        neutral: index of the unchanged image, marked by a line.
    """
    figure = PlainFigure(mode)
    figure.vline(neutral, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for family, shares in accuracy.items():
        figure.add(
            "scatter",
            name=family,
            x=list(range(len(shares))),
            y=[100 * share for share in shares],
            customdata=list(strengths),
            mode="lines+markers",
            line={"color": FAMILY[family], "width": 2.5},
            marker={"color": FAMILY[family], "symbol": SYMBOLS[family], "size": 9},
            hovertemplate=f"{family}, %{{customdata}}: %{{y:.1f}} %<extra></extra>",
        )
    figure.layout(
        height=HEIGHT_PX,
        showlegend=True,
        legend=LEGEND,
        xaxis={
            "tickvals": list(range(len(strengths))),
            "ticktext": list(strengths),
            "range": [-0.2, len(strengths) - 0.8],
        },
        yaxis={"title": {"text": "test accuracy, %"}, "range": [0, 102]},
    )
    return figure.figure()
