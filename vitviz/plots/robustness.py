"""Draw accuracy over the strength of an image change, one line per model."""

from collections.abc import Mapping, Sequence

from vitviz.plots.chart import Chart
from vitviz.plots.data_size import HEIGHT_PX
from vitviz.plots.scoreboard import FAMILY, SYMBOLS
from vitviz.plots.theme import PALETTES, Mode


def robustness_figure(
    accuracy: Mapping[str, Sequence[float]], strengths: Sequence[str], neutral: int, mode: Mode = "light"
) -> Chart:
    """Draw test accuracy over strengths, evenly spaced.

    Args:
        accuracy: by family, in [0, 1], one per strength.
        neutral: index of the unchanged image, marked by a line.
    """
    figure = Chart(mode)
    figure.vline(neutral, {"color": PALETTES[mode].muted, "width": 1, "dash": "dot"})
    for family, shares in accuracy.items():
        figure.curve(
            family,
            range(len(shares)),
            [100 * share for share in shares],
            (FAMILY[family], SYMBOLS[family]),
            "%{customdata}: %{y:.1f} %",
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
