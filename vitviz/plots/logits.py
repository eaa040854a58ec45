"""Draw class probabilities over depth (logit lens), and the shares of a class logit by layer, head and MLP."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray
from vitviz.analysis.logits import Attribution
from vitviz.plots.chart import Chart
from vitviz.plots.theme import DIVERGING, HEADS, PALETTES, SYMBOLS, Mode, colorscale
from vitviz.text import signed

MOST_WRITTEN = 13  # columns whose cells have room for their numbers
ROW_PX, FRAME_PX, LABEL_PX = 34, 92, 48
MAP_END, SUM_START = 0.6, 0.7  # share of the figure's width


def attribution_figure(shares: Attribution, name: str, mode: Mode = "light") -> Chart:
    """Draw each head's and MLP's share on the left, and how the shares sum to the logit of `name` on the right."""
    figure = Chart(mode)
    names = _add_cells(figure, np.column_stack([shares.heads, shares.mlps]), mode)
    _add_sum(figure, shares, mode)
    rows = ["embedding", *(f"layer {layer}" for layer in range(1, len(shares.mlps) + 1)), "biases", "logit"]
    axis = {"showgrid": False, "anchor": "y", "side": "top"}
    figure.layout(
        height=FRAME_PX + ROW_PX * len(rows),
        margin={"r": LABEL_PX},
        xaxis={
            **axis,
            "domain": [0, MAP_END],
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "title": {"text": "share of each head and of the MLP"},
        },
        xaxis2={
            **axis,
            "domain": [SUM_START, 1],
            "range": _span(shares),
            "title": {"text": f"sum of the shares: the logit of {name}"},
        },
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": rows,
            "range": [len(rows) - 0.4, -0.6],
            "showgrid": False,
        },
    )
    return figure


def _add_cells(figure: Chart, cells: FloatArray, mode: Mode) -> list[str]:
    """Add the shares (layers, heads + 1) as a heat map with its numbers; return the columns' names."""
    layers, columns = cells.shape
    names = [*(f"head {head}" for head in range(1, columns)), "MLP"]
    top = float(np.nanmax(np.abs(cells))) or 1.0
    figure.add(
        "heatmap",
        z=[[None if np.isnan(share) else float(share) for share in row] for row in cells],
        x=list(range(columns)),
        y=list(range(1, layers + 1)),
        zmin=-top,
        zmax=top,
        xgap=2,
        ygap=2,
        colorscale=colorscale(DIVERGING[mode]),
        showscale=False,
        text=[["" if np.isnan(share) else signed(share) for share in row] for row in cells],
        texttemplate="%{text}" if columns <= MOST_WRITTEN else "",
        customdata=[names] * layers,
        hovertemplate="layer %{y}, %{customdata}: %{text}",
    )
    return names if columns <= MOST_WRITTEN else [*(str(head) for head in range(1, columns)), "MLP"]


def _span(shares: Attribution) -> tuple[float, float]:
    """Return the range of the sums, with room for a label left of a negative bar."""
    sums = np.cumsum([0.0, shares.embedding, *shares.layers.tolist(), shares.biases])
    room = 0.12 * (float(sums.max() - sums.min()) or 1.0)
    return float(sums.min()) - room, float(sums.max()) + room / 4


def _add_sum(figure: Chart, shares: Attribution, mode: Mode) -> None:
    """Add one bar per row from the sum before it to the sum after it, and the logit."""
    palette = PALETTES[mode]
    parts = [shares.embedding, *shares.layers.tolist(), shares.biases]
    before = [0.0, *np.cumsum(parts).tolist()]
    colors = [DIVERGING[mode][5] if part >= 0 else DIVERGING[mode][1] for part in parts]
    figure.add(
        "bar",
        orientation="h",
        xaxis="x2",
        yaxis="y",
        y=list(range(len(parts) + 1)),
        x=[*parts, before[-1]],
        base=[*before[:-1], 0.0],
        width=0.7,
        marker={"color": [*colors, palette.ink], "line": {"width": 0}},
        text=[*(signed(part) for part in parts), signed(before[-1])],
        textposition="outside",
        hovertemplate="%{text}",
    )


def lens_figure(
    probabilities: NDArray[np.floating[Any]],
    names: Sequence[str],
    chosen: Sequence[int],
    mode: Mode = "light",
) -> Chart:
    """Draw the probability of the chosen classes if the readout were applied after each layer.

    Args:
        probabilities: (depth + 1, classes); row 0 is before the first block.
        chosen: classes to draw, the first in the strongest line.
    """
    palette = PALETTES[mode]
    figure = Chart(mode)
    depth = len(probabilities) - 1
    for place, index in enumerate(chosen):
        name = names[index]
        color = palette.primary if place == 0 else HEADS[(0, 1, 2, 4, 6)[(place - 1) % 5]]
        figure.curve(
            name,
            range(depth + 1),
            100 * probabilities[:, index],
            (color, SYMBOLS[place % len(SYMBOLS)]),
            "%{y:.1f} % after layer %{x}",
            line={"width": 3 if place == 0 else 1.5},
        )
    return figure.with_legend(
        320,
        xaxis={
            "title": {"text": "layer"},
            "tickvals": list(range(0, depth + 1, 1 if depth <= 12 else 4)),
            "range": [-0.2, depth + 0.2],
        },
        yaxis={"title": {"text": "probability, %"}, "range": [-2, 102]},
    )
