"""Draw probe accuracies and token norms over depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vitviz.plots.plotly_dict import PlainFigure, escape_text
from vitviz.plots.theme import HEADS, PALETTES, SYMBOLS, Mode, family_colors

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Line:
    """Values of one model over its layers, with the model's index (0 or 1), standard errors and head accuracy."""

    name: str
    layers: Sequence[str]
    values: Sequence[float]
    model: int = 0
    errors: Sequence[float] = ()
    head_value: float | None = None


def over_depth_figure(
    lines: Sequence[Line], families: Sequence[str], axis: str, chance: float, mode: Mode, *, share: bool
) -> go.Figure:
    """Draw values over relative depth, so that models of different depths can be compared.

    Args:
        families: of the two models.
        axis: title of the values.
        chance: chance level, drawn as a dotted line.
        share: True if the values are shares, written in percent.
    """
    figure = PlainFigure(mode)
    palette, colors = PALETTES[mode], family_colors(families)
    times, written = (100, "%{y:.1f} %") if share else (1, "%{y:.2f}")
    for place, line in enumerate(lines):
        color, again = colors[line.model], any(line.model == other.model for other in lines[:place])
        last = max(len(line.layers) - 1, 1)
        trace = {
            "x": [i / last for i in range(len(line.layers))],
            "y": [times * value for value in line.values],
            "name": escape_text(line.name),
            "text": list(line.layers),
            "mode": "lines+markers",
            "line": {"color": color, "width": 2.5, "dash": "solid" if not again else "dot"},
            "marker": {"size": 8, "symbol": SYMBOLS[line.model + 2 * again]},
            "hovertemplate": f"{written} after %{{text}}<extra></extra>",
        }
        if line.errors:
            trace["error_y"] = {
                "type": "data",
                "array": [times * error for error in line.errors],
                "thickness": 1,
                "width": 3,
            }
        figure.add("scatter", **trace)
        if line.head_value is not None:
            figure.hline(
                times * line.head_value,
                {"color": color, "width": 1.5, "dash": ("dash", "dashdot")[line.model]},
            )
    figure.hline(times * chance, {"color": palette.muted, "width": 1, "dash": "dot"})
    _axes(figure, f"{axis}, %" if share else axis, times)
    return figure.figure()


def _axes(figure: PlainFigure, title: str, most: int) -> None:
    figure.layout(
        xaxis={
            "title": {"text": "relative depth"},
            "tickvals": [0, 0.5, 1],
            "ticktext": ["first", "half", "last"],
            "range": [-0.04, 1.04],
        },
        yaxis={"title": {"text": title}, "range": [-0.05 * most, 1.05 * most]},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        height=340,
    )


@dataclass(frozen=True)
class Layer:
    """Token norms of one layer: 1, 50 and 99 % quantiles and maximum of the patches, means of the prefix tokens."""

    title: str
    spread: Sequence[float]
    longest: float
    prefix: Sequence[float]


def lengths_figure(layers: Sequence[Layer], prefix: Sequence[str], mode: Mode) -> go.Figure:
    """Draw token norms over depth: 1 to 99 % of the patches, their median and maximum, and prefix token means."""
    figure = PlainFigure(mode)
    palette = PALETTES[mode]
    titles = [layer.title for layer in layers]
    for layer in layers:
        figure.add(
            "scatter",
            x=[layer.title] * 2,
            y=[layer.spread[0], layer.spread[2]],
            mode="lines",
            line={"color": HEADS[0], "width": 12},
            opacity=0.45,
            hoverinfo="skip",
            showlegend=False,
        )
    marks = [
        ("median patch", [layer.spread[1] for layer in layers], "line-ew-open", palette.ink),
        ("largest patch", [layer.longest for layer in layers], "circle", palette.primary),
    ]
    marks += [
        (f"[{name.upper()}], mean", [layer.prefix[i] for layer in layers], "diamond", HEADS[1 + i % 3])
        for i, name in enumerate(prefix)
    ]
    for name, values, symbol, color in marks:
        figure.add(
            "scatter",
            x=titles,
            y=values,
            name=name,
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": color, "line": {"width": 2, "color": color}},
            hovertemplate="%{y:.1f} in %{x}<extra>" + name + "</extra>",
        )
    figure.layout(
        yaxis={"title": {"text": "token norm"}, "rangemode": "tozero"},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        height=340,
    )
    return figure.figure()
