"""Draw the logit lens: class probabilities over depth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import HEADS, PALETTES, SYMBOLS, Mode


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
