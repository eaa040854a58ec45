"""Draw models as points over two quantities with the Pareto front, and one model's parts as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

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
PHONE_PX = 360  # how wide the image is on a phone
MOST_NAMES = 12  # beyond so many points only the front and the chosen one carry their names
# A front that climbs leaves a point to the right and comes from below: names keep away from both where they can.
_PLACES = (
    "top left",
    "bottom right",
    "top center",
    "middle left",
    "bottom center",
    "middle right",
    "bottom left",
    "top right",
)
_LETTER_PX = 6.0  # of the names' type
_DOT_PX = 6.0
_LINE_PX = 3.0  # to each side of the front's line: a name there is struck out
_ROOM_PX2 = 40.0  # of another name or dot that a name may cover
LabelBox = tuple[float, float, float, float]  # left, low, right, high in px, y upwards


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
    width_px: int = 540,
    front: str = "best for its cost",
) -> Chart:
    """Draw the points of every family in its colour and shape, with the Pareto front.

    Args:
        width_px: about as wide as the image will be, by which names find room.
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
    sizes_px = tuple((round(0.82 * wide), round(0.65 * height_px)) for wide in (width_px, PHONE_PX))
    places = _place_labels(tuple(points), x, y, sizes_px)
    for family in FAMILY:
        family_points = [(p, place) for p, place in zip(points, places, strict=True) if p.family == family]
        if family_points:
            _add_family(figure, family, family_points, (x, y), palette)
    figure.layout(
        height=height_px,
        showlegend=True,
        margin={"t": 40},
        xaxis=_axis(x, [p.x for p in points]),
        yaxis=_axis(y, [p.y for p in points]),
    )
    return figure


class _Room:
    """The figure at one size: positions of the points, and boxes that labels must avoid."""

    def __init__(self, points: Sequence[BoardPoint], x: Axis, y: Axis, size_px: tuple[int, int]) -> None:
        self.names, self.width_px = [p.name for p in points], size_px[0]
        self.at = list(
            zip(
                _scaled([p.x for p in points], x) * size_px[0],
                _scaled([p.y for p in points], y) * size_px[1],
                strict=True,
            )
        )
        self.line = _line([at for p, at in zip(points, self.at, strict=True) if p.front])
        self.line += _find_whiskers(points, self.at, y, size_px[1])
        self.dots = [(a - _DOT_PX, u - _DOT_PX, a + _DOT_PX, u + _DOT_PX) for a, u in self.at]
        self.taken: list[LabelBox] = []

    def box(self, i: int, place: str) -> LabelBox:
        """Return the box of a point's label."""
        return _box(self.names[i], *self.at[i], place)

    def lost(self, i: int, place: str) -> float:
        """Return the area of other labels and dots that a label would cover, plus its part beyond the edge."""
        box, others = self.box(i, place), [*self.dots[:i], *self.dots[i + 1 :], *self.taken]
        return sum(_overlap(box, other) for other in others) + _overflow_px(box, self.width_px)

    def struck(self, i: int, place: str) -> float:
        """Return the overlap of a point's label with the front's line and with error bars."""
        return sum(_overlap(self.box(i, place), part) for part in self.line)


@lru_cache(maxsize=64)
def _place_labels(
    points: tuple[BoardPoint, ...], x: Axis, y: Axis, sizes_px: tuple[tuple[int, int], ...]
) -> list[str]:
    """Return the label position of each point so that no labels overlap; '' where there is no room.

    Args:
        sizes_px: of the figure on different screens; the first decides whether a name is drawn, the others where.
    """
    few = len(points) <= MOST_NAMES
    rooms = [_Room(points, x, y, size_px) for size_px in sizes_px]
    labels = [""] * len(points)
    for i in sorted(
        range(len(points)), key=lambda i: (not points[i].chosen, not points[i].front, -len(points[i].name))
    ):
        if not (few or points[i].front or points[i].chosen):
            continue
        lost = {place: [room.lost(i, place) for room in rooms] for place in _PLACES}
        struck = {place: sum(room.struck(i, place) for room in rooms) for place in _PLACES}
        best = min(
            _PLACES,
            key=lambda place: (
                *(area > _ROOM_PX2 for area in lost[place]),
                sum(lost[place]) + struck[place],
            ),
        )
        if lost[best][0] <= _ROOM_PX2 or points[i].chosen:
            labels[i] = best
            for room in rooms:
                room.taken.append(room.box(i, best))
    return labels


def _line(front: Sequence[tuple[float, float]]) -> list[LabelBox]:
    """Return the front's line: from each point across to below the next, then up to it."""
    corners = sorted(front)
    boxes: list[LabelBox] = []
    for (left, low), (right, high) in zip(corners, corners[1:], strict=False):
        boxes.append((left, low - _LINE_PX, right, low + _LINE_PX))
        boxes.append((right - _LINE_PX, min(low, high), right + _LINE_PX, max(low, high)))
    return boxes


def _find_whiskers(
    points: Sequence[BoardPoint], at: Sequence[tuple[float, float]], y: Axis, height_px: int
) -> list[LabelBox]:
    """Return the boxes of the vertical error bars."""
    px = height_px / (float(np.ptp([p.y for p in points])) or 1.0)
    reach = [0.0 if y.log else px * p.y_error for p in points]
    return [
        (a - _DOT_PX, u - long, a + _DOT_PX, u + long) for (a, u), long in zip(at, reach, strict=True) if long
    ]


def _box(name: str, x: float, y: float, place: str) -> LabelBox:
    """Return the box of a label."""
    wide, high, gap = _LETTER_PX * len(name), 15.0, 8.0
    high_or_low, _, side = place.partition(" ")
    left = {"right": x + gap, "left": x - gap - wide}.get(side, x - wide / 2)
    low = {"top": y + gap, "bottom": y - gap - high}.get(high_or_low, y - high / 2)
    return left, low, left + wide, low + high


def _overlap(a: LabelBox, b: LabelBox) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _overflow_px(box: LabelBox, width_px: float) -> float:
    """Return the part of a label beyond the figure's edge, in px."""
    return 15.0 * (max(0.0, -0.08 * width_px - box[0]) + max(0.0, box[2] - 1.08 * width_px))


def _scaled(values: Sequence[float], axis: Axis) -> np.ndarray:
    """Scale values to positions along an axis, 0 to 1."""
    at = np.log10(values) if axis.log else np.asarray(values, float)
    span = float(np.ptp(at)) if len(at) else 0.0
    return (at - at.min()) / span if span else np.full(len(at), 0.5)


def _add_family(
    figure: Chart,
    family: str,
    labelled: Sequence[tuple[BoardPoint, str]],
    axes: tuple[Axis, Axis],
    palette: theme.Palette,
) -> None:
    points = [point for point, _ in labelled]
    color, (x, y) = FAMILY[family], axes
    figure.add(
        "scatter",
        x=[p.x for p in points],
        y=[p.y for p in points],
        mode="markers+text",
        name=family,
        text=[p.name if place else "" for p, place in labelled],
        textposition=[place or "top center" for _, place in labelled],
        textfont={"size": 13, "color": palette.ink},
        customdata=[[p.name, p.note] for p in points],
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
