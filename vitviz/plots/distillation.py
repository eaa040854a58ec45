"""Draw the similarity of [CLS] and [DIST], disagreement of classifiers, and gains from distillation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve
from vitviz.plots.chart import Chart
from vitviz.plots.data_size import HEIGHT_PX, sizes_axis
from vitviz.plots.theme import HEADS, PALETTES, SEQUENTIAL, Mode, colorscale

COMBINED = 2  # of a student's curves: both heads combined


def similarity_figure(
    similarity: NDArray[np.float64], start: NDArray[np.float64] | None, block: int, mode: Mode = "light"
) -> Chart:
    """Draw the cosine of [CLS] and [DIST] over depth, (depth + 1,) from the input on; `start` is before training.

    Args:
        block: the chosen block, from 1; its dot is filled.
    """
    palette = PALETTES[mode]
    depth = np.arange(len(similarity))
    lowest = min(similarity.min(), 0 if start is None else start.min())
    figure = Chart(mode)
    figure.hline(0, {"color": palette.line, "width": 1})
    if start is not None:
        _add_before(figure, start, palette.muted)
    figure.add(
        "scatter",
        x=depth,
        y=similarity,
        mode="lines+markers",
        line={"color": palette.primary, "width": 2},
        marker={
            "size": 9,
            "color": palette.primary,
            "symbol": ["circle" if at == block else "circle-open" for at in depth],
            "line": {"color": palette.primary, "width": 2},
        },
        hovertemplate="after layer %{x}: %{y:.3f}",
    )
    figure.layout(
        height=300,
        showlegend=False,
        xaxis={"title": {"text": "layer (0: input tokens)"}, "dtick": 1, "showgrid": False},
        yaxis={
            "title": {"text": "cosine of [CLS] and [DIST]"},
            "range": [-1.05 if lowest < -0.05 else -0.05, 1.3 if lowest < -0.05 else 1.15],
            "tickvals": [-1, -0.5, 0, 0.5, 1],
        },
    )
    return figure


def _add_before(figure: Chart, start: NDArray[np.float64], color: str) -> None:
    """Draw the curve before training, dotted; its second point carries the label."""
    figure.add(
        "scatter",
        x=np.arange(len(start)),
        y=start,
        mode="lines+text",
        line={"color": color, "width": 1.5, "dash": "dot"},
        text=["", "before training"] + [""] * (len(start) - 2),
        textposition="top right",
        textfont={"color": color},
        hovertemplate="before training, after layer %{x}: %{y:.3f}",
    )


def disagreement_figure(names: Sequence[str], differs: NDArray[np.float64], mode: Mode = "light") -> Chart:
    """Draw the share of images classified differently by each pair of classifiers, (n, n), as a heatmap."""
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, 100 * differs)
    top = float(np.nanmax(shown))
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=shown,
        x=list(names),
        y=list(names),
        zmin=0,
        zmax=top,
        xgap=2,
        ygap=2,
        colorscale=colorscale(SEQUENTIAL),
        showscale=False,
        hovertemplate="%{y} and %{x} differ on %{z:.1f} % of the images",
    )
    for (row, column), share in np.ndenumerate(shown):
        if np.isfinite(share):
            ink = "#10151C" if share > 0.55 * top else "#FFFFFF"
            figure.note(x=column, y=row, text=f"{share:.1f}", font={"color": ink, "size": 13})
    figure.layout(
        height=48 * len(names) + 96,
        xaxis={
            "side": "top",
            "showgrid": False,
            "tickvals": list(names),
            "ticktext": [name.replace(" ", "\n") for name in names],  # narrow enough for a phone
        },
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return figure


def teacher_gain_figure(curves: Sequence[Curve], mode: Mode = "light") -> Chart:
    """Draw student minus twin, in points, over the number of images, one line per combination of the heads.

    Both ways of combining the heads, which come first, have their intervals; each head alone is dotted.
    """
    palette = PALETTES[mode]
    figure = Chart(mode)
    figure.hline(0, {"color": palette.muted, "width": 1.5})
    for index, curve in enumerate(curves):
        colour = HEADS[index]
        combined = index < COMBINED
        figure.curve(
            curve.title,
            [float(size) * (1 + 0.03 * (index - 1.5)) for size in curve.pictures],  # keep the spans apart
            100 * curve.mean,
            (colour, _ANSWER_SYMBOLS[index]),
            "%{customdata:,} images: %{y:+.1f} points",
            (100 * curve.low, 100 * curve.high) if combined else None,
            line={"width": 1.5 if index else 3, "dash": "solid" if combined else "dot"},
            customdata=curve.pictures.tolist(),
        )
    sizes = sorted({int(size) for curve in curves for size in curve.pictures})
    return figure.with_legend(
        HEIGHT_PX,
        xaxis=sizes_axis(sizes, "training images"),
        yaxis={"title": {"text": "student minus twin, points"}},
    )


def lessons_figure(
    names: Sequence[str], means: Sequence[float], spans: Sequence[tuple[float, float]], mode: Mode = "light"
) -> Chart:
    """Draw the test accuracy of every distillation recipe as a dot with its interval.

    Args:
        names: of the recipes; the first is the twin, whose mean is drawn as a line.
        means: in [0, 1].
        spans: ends of the intervals.
    """
    palette = PALETTES[mode]
    figure = Chart(mode)
    figure.add(
        "scatter",
        x=[100 * mean for mean in means],
        y=list(names),
        orientation="h",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [100 * (high - mean) for mean, (_, high) in zip(means, spans, strict=True)],
            "arrayminus": [100 * (mean - low) for mean, (low, _) in zip(means, spans, strict=True)],
            "color": palette.primary,
            "width": 4,
        },
        mode="markers",
        marker={"color": palette.primary, "size": 10, "symbol": ["diamond", *["circle"] * (len(names) - 1)]},
        hovertemplate="%{y}: %{x:.1f} %",
    )
    figure.add(
        "scatter",
        x=[100 * means[0]] * 2,
        y=[names[0], names[-1]],
        orientation="h",
        mode="lines",
        line={"color": palette.muted, "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.layout(
        height=34 * len(names) + 90,
        xaxis={"title": {"text": "test accuracy, %"}},
        yaxis={"range": [len(names) - 0.5, -0.5]},
    )
    return figure


_ANSWER_SYMBOLS = ("circle", "square", "triangle-up", "cross")
