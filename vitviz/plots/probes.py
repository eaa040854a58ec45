"""Draw probe accuracies and token norms over depth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vitviz.plots.chart import Chart
from vitviz.plots.theme import HEADS, PALETTES, SYMBOLS, Mode, family_colors

HEIGHT_PX = 340
_SPREAD = "rgba(86, 180, 233, 0.45)"


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
) -> Chart:
    """Draw values over relative depth, so that models of different depths can be compared.

    Args:
        chance: chance level, drawn as a dotted line.
        share: True if the values are shares, written in percent.
    """
    figure = Chart(mode)
    palette, colors = PALETTES[mode], family_colors(families)
    times, written = (100, "%{y:.1f} %") if share else (1, "%{y:.2f}")
    for place, line in enumerate(lines):
        color, again = colors[line.model], any(line.model == other.model for other in lines[:place])
        last = max(len(line.layers) - 1, 1)
        values, errors = times * np.array(line.values), times * np.array(line.errors or 0.0)
        figure.curve(
            line.name,
            [i / last for i in range(len(line.layers))],
            values,
            (color, SYMBOLS[line.model + 2 * again]),
            f"{written} after %{{text}}",
            (values - errors, values + errors) if line.errors else None,
            line={"dash": "solid" if not again else "dot"},
            text=list(line.layers),
        )
        if line.head_value is not None:
            figure.hline(
                times * line.head_value,
                {"color": color, "width": 1.5, "dash": ("dash", "dashdot")[line.model]},
            )
    figure.hline(times * chance, {"color": palette.muted, "width": 1, "dash": "dot"})
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={
            "title": {"text": "relative depth"},
            "tickvals": [0, 0.5, 1],
            "ticktext": ["first", "half", "last"],
            "range": [-0.04, 1.04],
        },
        yaxis={"title": {"text": f"{axis}, %" if share else axis}, "range": [-0.05 * times, 1.05 * times]},
    )


@dataclass(frozen=True)
class Layer:
    """Token norms of one layer: 1, 50 and 99 % quantiles and maximum of the patches, means of the prefix tokens."""

    title: str
    spread: Sequence[float]
    longest: float
    prefix: Sequence[float]


def lengths_figure(layers: Sequence[Layer], prefix: Sequence[str], mode: Mode) -> Chart:
    """Draw token norms over depth: 1 to 99 % of the patches, their median and maximum, and prefix token means."""
    figure = Chart(mode)
    palette = PALETTES[mode]
    titles = [layer.title for layer in layers]
    figure.add(
        "scatter",
        name="1 to 99 % of the patches",
        x=[title for layer in layers for title in (layer.title, layer.title, None)],
        y=[norm for layer in layers for norm in (layer.spread[0], layer.spread[2], None)],
        mode="lines",
        line={"color": _SPREAD, "width": 12},
        hoverinfo="skip",
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
            hovertemplate="%{y:.1f} in %{x}",
        )
    return figure.with_legend(HEIGHT_PX, yaxis={"title": {"text": "token norm"}, "rangemode": "tozero"})
