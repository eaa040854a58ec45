"""Draw costs over the number of tokens on two logarithmic axes, where a slope is a power."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.chart import Chart

FloatArray64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of global and of window attention over the number of tokens; (sizes,) each."""

    tokens: FloatArray64
    full: FloatArray64
    windows: FloatArray64
    title: str
    unit: str = ""


@dataclass(frozen=True, eq=False)
class CostLine:
    """One cost over the number of tokens, with its label above or below the last point."""

    name: str
    values: FloatArray64
    color: str
    place: Literal["above", "below"] = "above"


_ENDS: Mapping[str, Mapping[str, Any]] = {
    "above": {"xanchor": "right", "yanchor": "bottom", "yshift": 8},
    "below": {"xanchor": "right", "yanchor": "top", "yshift": -14},
}


def cost_figure(costs: Costs, x_title: str, mode: theme.Mode, height_px: int = 320) -> Chart:
    """Draw two costs over the number of tokens on logarithmic axes."""
    lines = (
        CostLine("global", costs.full, theme.HEADS[3]),
        CostLine("windows", costs.windows, theme.HEADS[4], place="below"),
    )
    figure, ink, tokens = Chart(mode), theme.PALETTES[mode].ink, costs.tokens
    for series in lines:
        _add(figure, tokens, series, costs.unit)
        place = {"x": float(np.log10(tokens[-1])), "y": float(np.log10(series.values[-1]))}
        figure.note(text=series.name, font={"color": ink, "size": 13}, **place, **_ENDS[series.place])
    figure.layout(
        height=height_px,
        margin={"r": 8},
        xaxis=_tokens_axis(tokens, x_title),
        yaxis={
            "type": "log",
            "title": {"text": costs.title},
            "dtick": 1,
            "ticksuffix": costs.unit,
        },
    )
    return figure


def _tokens_axis(tokens: FloatArray64, title: str) -> dict[str, Any]:
    low, high = (float(np.log10(end)) for end in (tokens[0], tokens[-1]))
    room = 0.06 * (high - low)
    return {
        "type": "log",
        "range": [low - room, high + room],
        "title": {"text": title},
        "tickvals": tokens.tolist(),
        "ticktext": [f"{size:,g}" for size in tokens.tolist()],
    }


def _add(figure: Chart, tokens: FloatArray64, line: CostLine, unit: str) -> None:
    figure.add(
        "scatter",
        x=tokens.tolist(),
        y=line.values.tolist(),
        mode="lines+markers",
        line={"color": line.color, "width": 2},
        marker={"size": 6},
        name=line.name,
        hovertemplate="%{x:,}: %{y:.3s}" + unit,
    )
