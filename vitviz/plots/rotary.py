"""Draw rotary positions: the score q·k over all offsets, and the turned pairs at one offset."""

import numpy as np

from vitviz.analysis.position_similarity import Grid, rotary_scores, rotary_turns
from vitviz.plots.chart import Chart
from vitviz.plots.theme import DIVERGING, PALETTES, Mode, colorscale

MOST_PAIRS, PER_LINE = 8, 4  # clocks per axis, and per line
BLOCK = 2.6  # lines from the first row pair to the first column pair
HAND = 0.4
MAP_END, CLOCKS_START = 0.44, 0.52


def rotary_figure(grid: Grid, dim: int, base: float, offset: tuple[int, int], mode: Mode = "light") -> Chart:
    """Draw the score over offsets with the selected one marked, and query and key of every pair as hands of a clock."""
    palette, figure = PALETTES[mode], Chart(mode)
    scores = rotary_scores(grid, dim, base)
    down, right = (list(range(1 - side, side)) for side in grid)
    figure.add(
        "heatmap",
        z=scores.tolist(),
        x=right,
        y=down,
        zmin=-1,
        zmax=1,
        colorscale=colorscale(DIVERGING[mode]),
        colorbar={"thickness": 8, "outlinewidth": 0, "title": {"text": "q·k"}},
        hovertemplate="%{y} rows down, %{x} columns right: %{z:.3f}",
    )
    title = "Score q·k by offset from query to key"
    figure.note(xref="x domain", yref="y domain", x=0, y=1, xanchor="left", yanchor="bottom", text=title)
    box = {"x0": offset[1] - 0.5, "x1": offset[1] + 0.5, "y0": offset[0] - 0.5, "y1": offset[0] + 0.5}
    figure.shape(type="rect", **box, line={"color": palette.ink, "width": 2.5})
    _add_clocks(figure, rotary_turns(grid, dim, base, offset), mode)
    bare = {"showgrid": False, "showticklabels": False}
    figure.layout(
        height=436,
        margin={"t": 24},  # for the title
        xaxis={"domain": [0, MAP_END], "title": {"text": "columns right"}, "showgrid": False},
        yaxis={
            "title": {"text": "rows down"},
            "autorange": "reversed",
            "showgrid": False,
            "scaleanchor": "x",
        },
        xaxis2={**bare, "domain": [CLOCKS_START, 1], "anchor": "y2", "range": [-0.6, PER_LINE - 0.4]},
        yaxis2={**bare, "anchor": "x2", "range": [2 * BLOCK - 0.6, -1], "scaleanchor": "x2"},
    )
    return figure


def _add_clocks(figure: Chart, turns: np.ndarray, mode: Mode) -> None:
    """Add a clock per pair: the query's dotted hand points right, the key's is turned by the offset's angle."""
    palette = PALETTES[mode]
    for axis, name in enumerate(("row", "column")):
        first = BLOCK * axis
        label = f"pairs that turn with the {name}"
        figure.note(xref="x2", yref="y2", x=-0.5, y=first - 0.62, xanchor="left", text=label)
        for pair, angle in enumerate(turns[axis, :MOST_PAIRS].tolist()):
            x, y = pair % PER_LINE, first + pair // PER_LINE
            circle = {"x0": x - HAND, "x1": x + HAND, "y0": y - HAND, "y1": y + HAND}
            figure.shape(
                type="circle", xref="x2", yref="y2", **circle, line={"color": palette.line, "width": 1.5}
            )
            hands = ((0.0, palette.muted, "query", "dot"), (angle, palette.primary, "key", "solid"))
            for hand, color, label, dash in hands:
                figure.add(
                    "scatter",
                    xaxis="x2",
                    yaxis="y2",
                    x=[x, x + HAND * float(np.cos(hand))],
                    y=[y, y - HAND * float(np.sin(hand))],
                    mode="lines",
                    line={"color": color, "width": 3, "dash": dash},
                    hovertemplate=f"{name} pair {pair + 1}, {label}: {np.degrees(hand):.1f}°",
                )
