"""Draw accuracy on changed images, and the equivariance of each layer to a shift."""

from collections.abc import Mapping, Sequence

from vitviz.plots.chart import Chart
from vitviz.plots.data_size import HEIGHT_PX
from vitviz.plots.layers import LayerLine, over_depth_figure
from vitviz.plots.scoreboard import FAMILY
from vitviz.plots.scoreboard import SYMBOLS as FAMILY_SYMBOLS
from vitviz.plots.theme import PALETTES, Mode


def robustness_figure(
    accuracy: Mapping[str, Sequence[float]],
    intervals: Mapping[str, Sequence[tuple[float, float]]],
    strengths: Sequence[str],
    neutral: int,
    mode: Mode = "light",
) -> Chart:
    """Draw test accuracy over strengths, evenly spaced, with its intervals.

    Args:
        accuracy: by family, in [0, 1], one per strength.
        intervals: of each accuracy.
        neutral: index of the unchanged image, marked by a line.
    """
    figure = Chart(mode)
    figure.vline(neutral, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for family, shares in accuracy.items():
        figure.curve(
            family,
            range(len(shares)),
            [100 * share for share in shares],
            (FAMILY[family], FAMILY_SYMBOLS[family]),
            "%{customdata}: %{y:.1f} %",
            ([100 * low for low, _ in intervals[family]], [100 * high for _, high in intervals[family]]),
            customdata=list(strengths),
        )
    return figure.with_legend(
        HEIGHT_PX,
        xaxis={
            "tickvals": list(range(len(strengths))),
            "ticktext": list(strengths),
            "range": [-0.2, len(strengths) - 0.8],
        },
        yaxis={"title": {"text": "test accuracy, %"}, "range": [0, 102]},
    )


def shift_figure(lines: Sequence[LayerLine], families: Sequence[str], mode: Mode = "light") -> Chart:
    """Draw the equivariance error of each model over relative depth: 0 if a map moves with the image, 1 if it stays."""
    figure = over_depth_figure(lines, families, "", 0.5, mode, share=False, digits=3, reference="")
    figure.layout(
        yaxis={
            "range": [-0.02, 1.02],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["moves with the image", "neither", "stays"],
        }
    )
    return figure
