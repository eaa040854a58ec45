"""Draw models as points over two quantities with the Pareto front, and one model's parts as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vitviz.plots import theme
from vitviz.plots.chart import Chart, log_axis

FAMILY = {
    "CNN": theme.FAMILIES["cnn"],
    "Hybrid": theme.FAMILIES["hybrid"],
    "ViT": theme.FAMILIES["vit"],
    "DeiT": theme.FAMILIES["deit"],
    "Swin": theme.FAMILIES["swin"],
    "Self-supervised ViT": theme.family_colors(["vit", "vit"])[1],
}
SYMBOLS = dict(zip(FAMILY, theme.SYMBOLS, strict=False))
MOST_NAMES = 12  # beyond so many points only the front and the chosen one carry their names


@dataclass(frozen=True)
class BoardPoint:
    """One model: hollow if its y is cited, ringed if it is Pareto-optimal, with error bars."""

    name: str
    family: str
    x: float
    y: float
    hollow: bool = False
    front: bool = False
    chosen: bool = False
    x_low: float = 0.0
    x_high: float = 0.0
    y_error: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Axis:
    """Label and scale of an axis; `log` if its numbers span orders of magnitude."""

    title: str
    unit: str
    log: bool


def board_figure(
    points: Sequence[BoardPoint],
    x: Axis,
    y: Axis,
    mode: theme.Mode = "light",
    height_px: int = 540,
    front: str = "best for its cost",
) -> Chart:
    """Draw the points of every family in its colour and shape, with the Pareto front; names stand where there is room.

    Args:
        front: name of the line through the Pareto-optimal points.
    """
    figure = Chart(mode)
    palette = theme.PALETTES[mode]
    best = sorted((p for p in points if p.front), key=lambda p: p.x)
    figure.add(
        "scatter",
        x=[p.x for p in best],
        y=[p.y for p in best],
        mode="lines",
        line={"color": palette.muted, "width": 1.5, "dash": "dot", "shape": "hv"},
        hoverinfo="skip",
        name=front,
    )
    for family in FAMILY:
        if family_points := [point for point in points if point.family == family]:
            _add_family(figure, family, family_points, (x, y), len(points) <= MOST_NAMES)
    figure.layout(
        height=height_px,
        showlegend=True,
        margin={"t": 40},
        uniformtext={"mode": "hide", "minsize": 1},  # a name without room
        xaxis=_axis(x, [p.x for p in points]),
        yaxis=_axis(y, [p.y for p in points]),
    )
    return figure


def _add_family(
    figure: Chart,
    family: str,
    points: Sequence[BoardPoint],
    axes: tuple[Axis, Axis],
    are_few: bool,
) -> None:
    color, palette, (x, y) = FAMILY[family], theme.PALETTES[figure.mode], axes
    figure.add(
        "scatter",
        x=[p.x for p in points],
        y=[p.y for p in points],
        mode="markers+text",
        name=family,
        text=[p.name if are_few or p.front or p.chosen else "" for p in points],
        textposition="top center",
        customdata=[[p.name, p.note, 2 if p.chosen else int(p.front)] for p in points],
        marker={
            "size": [15 if p.chosen else 11 for p in points],
            "symbol": [SYMBOLS[family] + ("-open" if p.hollow else "") for p in points],
            "color": color,
            "opacity": [1.0 if p.front or p.chosen else 0.75 for p in points],
            "line": {
                "color": [palette.primary if p.chosen else palette.ink if p.front else color for p in points],
                "width": [3 if p.chosen else 2 if p.front or p.hollow else 0 for p in points],
            },
        },
        hovertemplate=f"%{{customdata[0]}}\n%{{x:.3s}}{_unit(x)} {x.title}\n%{{y:.4s}}{_unit(y)}"
        f" {y.title}\n%{{customdata[1]}}",
        **_bars(points, color),
    )


def _bars(points: Sequence[BoardPoint], color: str) -> dict[str, Any]:
    """Return the spread of the points as error bars."""
    thin = {"color": color, "thickness": 1, "width": 3}
    bars: dict[str, Any] = {}
    if any(p.y_error for p in points):
        bars["error_y"] = {"array": [p.y_error for p in points], **thin}
    if any(p.x_high > p.x for p in points):
        reach = {"array": [max(p.x_high - p.x, 0) for p in points]}
        bars["error_x"] = {**reach, "arrayminus": [max(p.x - p.x_low, 0) for p in points], **thin}
    return bars


def _unit(axis: Axis) -> str:
    return f"\N{NO-BREAK SPACE}{axis.unit}" if axis.unit else ""


def _axis(axis: Axis, values: Sequence[float]) -> dict[str, Any]:
    title = f"{axis.title}, {axis.unit}" if axis.unit else axis.title
    if not axis.log:
        return {"title": {"text": title}, "nticks": 7}
    return {"title": {"text": title}, **log_axis(values, room=0.1)}
