"""Draw costs over the number of tokens on two logarithmic axes, where a slope is a power."""

from collections.abc import Mapping, Sequence
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
class Line:
    """One cost over the number of tokens, with its label above, below or right of the last point."""

    name: str
    values: FloatArray64
    color: str
    place: Literal["above", "below", "right"] = "above"


_ENDS: Mapping[str, Mapping[str, Any]] = {
    "above": {"xanchor": "right", "yanchor": "bottom", "yshift": 8},
    "below": {"xanchor": "right", "yanchor": "top", "yshift": -14},
    "right": {"xanchor": "left", "yanchor": "middle", "xshift": 10},
}


def cost_figure(costs: Costs, x_title: str, mode: theme.Mode, height_px: int = 320) -> Chart:
    """Draw two costs over the number of tokens."""
    lines = (
        Line("global", costs.full, theme.HEADS[3]),
        Line("windows", costs.windows, theme.HEADS[4], place="below"),
    )
    labels = [f"{size:,g}" for size in costs.tokens.tolist()]
    return lines_figure(costs.tokens, lines, labels, (x_title, costs.title, costs.unit), mode, height_px)


def lines_figure(
    tokens: FloatArray64,
    lines: Sequence[Line],
    labels: Sequence[str],
    titles: tuple[str, str, str],
    mode: theme.Mode,
    height_px: int = 320,
    at: tuple[float, str] | None = None,
) -> Chart:
    """Draw costs over the number of tokens on logarithmic axes.

    Args:
        tokens: (sizes,).
        labels: one for every size: the number, and what may stand under it.
        titles: of the two axes, and the unit of the upper one.
        at: a number of tokens that is marked, and its word.
    """
    figure, ink = Chart(mode), theme.PALETTES[mode].ink
    x_title, y_title, unit = titles
    if at is not None:
        line = {"color": theme.PALETTES[mode].primary, "width": 1.5, "dash": "dot"}
        figure.shape(type="line", xref="x", yref="y domain", x0=at[0], x1=at[0], y0=0, y1=1, line=line)
        word = {"text": at[1], "font": {"color": theme.PALETTES[mode].primary, "size": 13}}
        figure.note(x=float(np.log10(at[0])), yref="y domain", y=0, xanchor="left", yanchor="bottom", **word)
    for series in lines:
        _add(figure, tokens, series, unit)
        place = {"x": float(np.log10(tokens[-1])), "y": float(np.log10(series.values[-1]))}
        figure.note(text=series.name, font={"color": ink, "size": 13}, **place, **_ENDS[series.place])
    figure.layout(
        height=height_px,
        margin={"r": max([8, *(7 * len(series.name) + 12 for series in lines if series.place == "right")])},
        xaxis=_tokens_axis(tokens, labels, x_title),
        yaxis={
            "type": "log",
            "title": {"text": y_title},
            "dtick": 1,
            "ticksuffix": unit,
        },
    )
    return figure


def _tokens_axis(tokens: FloatArray64, labels: Sequence[str], title: str) -> dict[str, Any]:
    low, high = (float(np.log10(end)) for end in (tokens[0], tokens[-1]))
    room = 0.06 * (high - low)
    return {
        "type": "log",
        "range": [low - room, high + room],
        "title": {"text": title},
        "tickvals": tokens.tolist(),
        "ticktext": list(labels),
    }


def _add(figure: Chart, tokens: FloatArray64, line: Line, unit: str) -> None:
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
