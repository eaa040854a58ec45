"""Draw one image's attention maps, head distances and prediction as charts for a notebook."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.chart import Chart

FloatArray = NDArray[np.floating[Any]]
_COLUMNS = 4
_TILE_PX = 220


def maps_figure(maps: FloatArray, titles: Sequence[str]) -> Chart:
    """Return maps (n, rows, cols) side by side on one colour scale."""
    columns = min(_COLUMNS, len(maps))
    rows = -(-len(maps) // columns)
    figure = Chart("light")
    for index, (values, title) in enumerate(zip(maps, titles, strict=True)):
        number = "" if index == 0 else str(index + 1)
        row, column = divmod(index, columns)
        across = [column / columns, (column + 0.94) / columns]
        down = [1 - (row + 0.86) / rows, 1 - row / rows]
        figure.add(
            "heatmap",
            z=np.asarray(values, np.float32),
            coloraxis="coloraxis",
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            hovertemplate="row %{y}, column %{x}: %{z:.3g}",
        )
        flat = {"visible": False, "constrain": "domain"}
        figure.layout(**{f"xaxis{number}": {**flat, "domain": across, "anchor": f"y{number}"}})
        figure.layout(
            **{
                f"yaxis{number}": {
                    **flat,
                    "domain": down,
                    "anchor": f"x{number}",
                    "autorange": "reversed",
                    "scaleanchor": f"x{number}",
                }
            }
        )
        figure.note(text=title, xref="paper", yref="paper", x=sum(across) / 2, y=down[0], yanchor="top")
    bar = {"thickness": 8, "outlinewidth": 0, "title": {"text": "weight", "side": "right"}}
    figure.layout(
        height=40 + _TILE_PX * rows,
        coloraxis={"colorscale": theme.colorscale(theme.SEQUENTIAL), "cmin": 0, "colorbar": bar},
    )
    return figure


def distances_figure(distance_px: FloatArray) -> Chart:
    """Return the attention distance of every head (layers, heads) against depth, in pixels."""
    figure = Chart("light")
    for head, values in enumerate(distance_px.T):
        figure.add(
            "scatter",
            x=list(range(len(values))),
            y=values,
            mode="markers",
            name=f"head {head}",
            marker={
                "color": theme.head_color(head, distance_px.shape[1]),
                "size": 9,
                "symbol": theme.SYMBOLS[head % len(theme.SYMBOLS)],
            },
            hovertemplate="layer %{x}: %{y:.1f} px",
        )
    figure.layout(height=360, showlegend=True)
    figure.layout(xaxis={"title": {"text": "layer"}, "dtick": 1})
    figure.layout(yaxis={"title": {"text": "mean attention distance, px"}, "rangemode": "tozero"})
    return figure


def prediction_figure(prediction: Sequence[tuple[str, float]], unit: str | None = "probability, %") -> Chart:
    """Return class probabilities as bars, the first at the top; without a unit, values as they are."""
    figure = Chart("light")
    figure.add(
        "bar",
        orientation="h",
        y=[name for name, _ in prediction],
        x=[(100 if unit else 1) * probability for _, probability in prediction],
        marker={"color": theme.PALETTES["light"].primary},
        hovertemplate="%{y}: %{x:.1f} %" if unit else "%{y}: %{x:.4g}",
    )
    figure.layout(height=60 + 36 * len(prediction))
    figure.layout(
        xaxis={"title": {"text": unit}, "range": [0, 100]} if unit else {"title": {"text": "value"}}
    )
    figure.layout(yaxis={"autorange": "reversed", "type": "category"})
    return figure
