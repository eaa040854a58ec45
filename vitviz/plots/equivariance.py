"""Draw the equivariance of each layer over depth."""

from collections.abc import Mapping, Sequence

from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, SYMBOLS, Mode, family_colors

HEIGHT = 380


def shift_figure(
    lines: Mapping[str, Sequence[tuple[str, float]]], families: Sequence[str], mode: Mode = "light"
) -> Chart:
    """Draw the equivariance error of each model over relative depth.

    Args:
        lines: name -> (layer, value), in order of depth: 0 if the map moves with the image, 1 if it stays.
    """
    figure = Chart(mode)
    figure.hline(0.5, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    colors = family_colors(families)
    for i, (name, points) in enumerate(lines.items()):
        last = max(1, len(points) - 1)
        figure.curve(
            name,
            [at / last for at in range(len(points))],
            [error for _, error in points],
            (colors[i], SYMBOLS[i % len(SYMBOLS)]),
            "%{customdata}: %{y:.3f}",
            customdata=[layer for layer, _ in points],
        )
    return figure.with_legend(
        HEIGHT,
        xaxis={
            "title": {"text": "depth"},
            "tickvals": [0, 1],
            "ticktext": ["first layer", "last layer"],
            "showgrid": False,
        },
        yaxis={
            "range": [-0.02, 1.02],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["moves with the image", "neither", "stays"],
        },
    )
