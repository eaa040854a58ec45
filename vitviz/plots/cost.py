"""Draw costs over the number of tokens on two logarithmic axes, where a slope is a power."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.chart import Chart, sizes_axis

FloatArray64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of global and of window attention over the number of tokens; (sizes,) each."""

    tokens: FloatArray64
    full: FloatArray64
    windows: FloatArray64
    title: str
    unit: str = ""


def cost_figure(costs: Costs, x_title: str, mode: theme.Mode, height_px: int = 320) -> Chart:
    """Draw two costs over the number of tokens on logarithmic axes."""
    figure, tokens = Chart(mode), costs.tokens
    for name, values, color in (
        ("global", costs.full, theme.HEADS[3]),
        ("windows", costs.windows, theme.HEADS[4]),
    ):
        figure.add(
            "scatter",
            x=tokens.tolist(),
            y=values.tolist(),
            mode="lines+markers+text",
            line={"color": color, "width": 2},
            marker={"size": 6},
            name=name,
            hovertemplate="%{x:,}: %{y:.3s}" + costs.unit,
        )
    figure.layout(
        height=height_px,
        xaxis=sizes_axis(tokens.tolist(), x_title),
        yaxis={
            "type": "log",
            "title": {"text": costs.title},
            "dtick": 1,
            "ticksuffix": costs.unit,
        },
    )
    return figure
