"""Draw the share of faces still classified as faces, by how their parts are arranged."""

from collections.abc import Mapping, Sequence

from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, Mode, family_colors

ROW_PX = 72
Shares = Sequence[Sequence[float]]
SYMBOLS = ("square", "circle", "diamond", "triangle-up")


def faces_figure(
    rows: Sequence[str], shares: Mapping[str, Shares], families: Sequence[str], mode: Mode = "light"
) -> Chart:
    """Draw one row per arrangement and one line of dots per model: every seed, and the mean as a bar.

    Args:
        shares: model -> arrangement -> share predicted as face, one per seed.
    """
    figure = Chart(mode)
    for m, (title, by_row) in enumerate(shares.items()):
        color, off = family_colors(families)[m], 0.24 * (m - (len(shares) - 1) / 2)
        for row, values in enumerate(by_row):
            figure.seeds(
                [100 * share for share in values],
                row + off,
                0.1,
                (color, SYMBOLS[m % len(SYMBOLS)], PALETTES[mode].ink),
                f"{rows[row]}: %{{x:.1f}} %",
                name=title,
                legendgroup=title,
                showlegend=not row,
            )
    return figure.with_legend(
        ROW_PX * len(rows) + 90,
        xaxis={"title": {"text": "predicted as face, %"}, "range": [-3, 103]},
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": list(rows),
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
        },
    )
