"""A hybrid's stem as sheets of maps, training over time of several models, and a net's spread over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.chart import Chart
from vitviz.plots.normalisation import draw_tokens
from vitviz.plots.scoreboard import FAMILY

STAGE_PX = 500  # height of the figures of the stem
GAP = 1  # cells between two maps of a sheet
# A vertical axis of square pixels: in a narrow column what is left of the height lies below the image.
_SQUARE = {"visible": False, "scaleanchor": "x", "constraintoward": "top"}


def field_figure(
    image: NDArray[np.uint8], box: tuple[float, float, float, float], mode: theme.Mode = "light"
) -> Chart:
    """Return the image (H, W, 3) with the square (left, top, right, bottom), in px, that one place reads."""
    figure = Chart(mode)
    figure.add("image", z=image, hoverinfo="skip")
    left, top, right, bottom = (edge - 0.5 for edge in box)  # a pixel's centre is a whole number
    line = {"color": theme.PALETTES[mode].primary, "width": 3}
    figure.shape(type="rect", x0=left, y0=top, x1=right, y1=bottom, line=line)
    height, width = image.shape[:2]
    figure.layout(
        meta="image with an outlined square",  # its description for screen readers
        height=STAGE_PX,
        xaxis={"visible": False, "range": [-0.5, width - 0.5]},
        yaxis={"range": [height - 0.5, -0.5], **_SQUARE},
    )
    return figure


def sheet(maps: NDArray[np.floating], columns: int) -> NDArray[np.float32]:
    """Return the maps (channels, rows, cols) as one image, each scaled to its own largest value; gaps are NaN."""
    count, rows, cols = maps.shape
    lines = ceil(count / columns)
    out = np.full((lines * (rows + GAP) - GAP, columns * (cols + GAP) - GAP), np.nan, np.float32)
    for i, feature_map in enumerate(maps):
        top, left = i // columns * (rows + GAP), i % columns * (cols + GAP)
        out[top : top + rows, left : left + cols] = feature_map / (feature_map.max() or 1.0)
    return out


def sheet_figure(maps: NDArray[np.floating], cell: tuple[int, int], mode: theme.Mode = "light") -> Chart:
    """Return a stem's maps (channels, rows, cols) side by side, and in each the place (row, col) outlined.

    Each map has its own scale, from 0, its ReLU's floor, to its largest value.
    """
    count, rows, cols = maps.shape
    columns = ceil(count**0.5)  # a square fills a column of a page and a phone alike
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=sheet(maps, columns),
        zmin=0,
        zmax=1,
        colorscale=theme.colorscale(theme.SEQUENTIAL),
        showscale=False,
        hoverinfo="skip",
    )
    for i in range(count):
        top, left = i // columns * (rows + GAP) + cell[0], i % columns * (cols + GAP) + cell[1]
        box = {"x0": left - 0.5, "x1": left + 0.5, "y0": top - 0.5, "y1": top + 0.5}
        figure.shape(type="rect", line={"color": theme.HEADS[4], "width": 1}, **box)
    figure.layout(
        meta="feature maps of all channels, with one outlined position",
        height=STAGE_PX,
        xaxis={"visible": False},
        yaxis={"autorange": "reversed", **_SQUARE},
    )
    return figure


def tokens_figure(tokens: NDArray[np.floating], token: int, mode: theme.Mode = "light") -> Chart:
    """Return the tokens (N, D), one row each, and the row of one outlined."""
    figure = draw_tokens(tokens, token, mode)
    figure.layout(height=STAGE_PX)
    return figure


@dataclass(frozen=True, eq=False)
class Course:
    """One training: (n,) images that it has seen, its validation accuracy, and the ends (n, 2) of intervals."""

    family: str
    x: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    ends: NDArray[np.float64]


def courses_figure(courses: Sequence[Course], mode: theme.Mode = "light") -> Chart:
    """Draw the validation accuracy over images between thin lines of its interval; a line has its name at its end."""
    figure, ink = Chart(mode), theme.PALETTES[mode].ink
    for course in courses:
        figure.add(
            "scatter",
            x=course.x,
            y=100 * course.accuracy,
            mode="lines",
            name=course.family,
            line={"color": FAMILY[course.family], "width": 2},
            hovertemplate="%{x:,.0f} images: %{y:.1f} %",
        )
        for ends in course.ends.T:
            thin = {"color": FAMILY[course.family], "width": 0.5}
            figure.add("scatter", x=course.x, y=100 * ends, mode="lines", line=thin, hoverinfo="skip")
        figure.note(
            x=float(course.x[-1]),
            y=float(100 * course.accuracy[-1]),
            text=course.family,
            xanchor="left",
            xshift=6,
            font={"color": ink, "size": 13},
        )
    longest = max((len(course.family) for course in courses), default=0)
    last = max((float(course.x[-1]) for course in courses), default=1.0)
    figure.layout(
        height=400,
        margin={"r": 8 * longest + 8},
        xaxis={"title": {"text": "images seen"}, "range": [0, last], "tickformat": ",.0f", "nticks": 6},
        yaxis={"title": {"text": "validation accuracy, %"}},
    )
    return figure


def seeds_figure(
    names: Sequence[str],
    accuracies: Sequence[Sequence[float]],
    intervals: Sequence[tuple[float, float]],
    marked: int,
    mode: theme.Mode = "light",
    printed: Sequence[float] = (),
) -> Chart:
    """Draw the accuracy of every seed as a dot in the row of its net, and their mean as a bar with its interval.

    Args:
        accuracies: of each row's seeds, in [0, 1].
        intervals: of each row's mean.
        marked: the control's row.
        printed: an accuracy of each row that a lecture printed: a cross, or one line if all are the same.
    """
    palette, figure = theme.PALETTES[mode], Chart(mode)
    for row, values in enumerate(accuracies):
        color, symbol = (palette.muted, "diamond") if row == marked else (palette.primary, "circle")
        shares = [100 * share for share in values]
        low, high = (100 * end for end in intervals[row])
        hover = f"{names[row]}: %{{x:.2f}} %"
        figure.seeds(shares, row, 0.3, (color, symbol, palette.ink), hover, (low, high))
    if len({*printed}) == 1:
        line = {"color": palette.query, "width": 2, "dash": "dash"}
        figure.vline(100 * printed[0], line, {"text": "printed", "font": {"color": palette.ink}, "xshift": 4})
        printed = ()
    for row, share in enumerate(printed):
        figure.add(
            "scatter",
            x=[100 * share],
            y=[row],
            orientation="h",
            mode="markers",
            marker={"size": 12, "color": palette.query, "symbol": "x"},
            hovertemplate="printed in the lecture: %{x:.2f} %",
        )
    crosses = " (× printed in the lecture)" if printed else ""
    figure.layout(
        height=min(52 * len(names), 600) + 70,
        xaxis={"title": {"text": f"test accuracy, %{crosses}"}},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
            "autorange": "reversed",
            "showgrid": False,
        },
    )
    return figure
