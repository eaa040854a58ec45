"""Conceal which curve is whose: keep axes and legend, and draw the range of all curves as one grey band.

The card of a study is the same picture in small.
"""

import re
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, Mode
from vitviz.text import cut

FloatArray = NDArray[np.float64]
_INK = "#5E86B8"  # readable on both themes
_BAND = "rgba(127, 127, 127, 0.25)"
CARD_PX = (380, 190)
LABELS_PX = 128  # beside the lines of a card
MOST_LABELS = 9
LINE_PX = 14.0  # of a label


def conceal(figure: Chart) -> Chart:
    """Return the figure with one grey band in place of its lines and bars; rows all show the values of all rows."""
    traces = figure.traces
    hidden = Chart(figure.mode)
    for trace in traces:
        if trace.get("name") and trace.get("showlegend", True):
            style = {key: trace[key] for key in ("mode", "line", "marker") if key in trace}
            hidden.add(trace["type"], x=[None], y=[None], name=trace["name"], hoverinfo="skip", **style)
    if is_horizontal(traces):
        rows, values = zip(*(list_points(trace) for trace in traces), strict=True)
        # A seed's dot stands above or below the middle of its row.
        names = list(dict.fromkeys(row if isinstance(row, str) else round(row) for row in chain(*rows)))
        every = np.concatenate(values)
        hidden.add(
            "scatter",
            x=np.tile(every, len(names)).tolist(),
            y=np.repeat(names, len(every)).tolist(),
            mode="markers",
            marker={"color": _BAND, "size": 9},
            hoverinfo="skip",
            name="values of all rows",
        )
    else:
        _add_band(hidden, *find_range(traces))
    notes = [note for note in figure.parts.get("annotations", ()) if note.get("xref") == "x domain"]
    legend = {**figure.parts.get("legend", {}), "itemclick": False}  # nothing reacts before the prediction
    hidden.layout(**{**figure.parts, "showlegend": True, "legend": legend, "annotations": notes})
    return hidden


def _add_band(hidden: Chart, x: list[Any], low: FloatArray, high: FloatArray) -> None:
    if not len(x):
        return
    edge = {"hoverinfo": "skip", "showlegend": False, "line": {"width": 0}, "mode": "lines"}
    hidden.add("scatter", x=list(x), y=low.tolist(), **edge)
    band = {**edge, "showlegend": True, "name": "range of all values"}
    hidden.add("scatter", x=list(x), y=high.tolist(), fill="tonexty", fillcolor=_BAND, **band)


def is_horizontal(traces: list[dict[str, Any]]) -> bool:
    """Return True if the rows of a figure are categories and its values lie along x."""
    return any(trace.get("orientation") == "h" for trace in traces)


def find_range(traces: list[dict[str, Any]]) -> tuple[list[Any], FloatArray, FloatArray]:
    """Return the positions along x, and the lowest and the highest value of all traces there.

    Between its points a line is interpolated. Categories have the range of all values of the figure.
    """
    points = [list_points(trace) for trace in traces]
    drawn = [(x, y) for x, y in points if len(x)]
    if not drawn:
        return [], np.zeros(0), np.zeros(0)
    numeric = all(isinstance(position, int | float) for x, _ in drawn for position in x)
    if not numeric:
        names = list(dict.fromkeys(name for x, _ in drawn for name in x))
        values = np.concatenate([y for _, y in drawn])
        return names, np.full(len(names), values.min()), np.full(len(names), values.max())
    positions = sorted({float(position) for x, _ in drawn for position in x})
    curves = np.array(
        [
            np.interp(positions, np.array(x, float)[order], y[order], np.nan, np.nan)
            for x, y in drawn
            for order in [np.argsort(x, kind="stable")]
        ]
    )
    return positions, np.nanmin(curves, 0), np.nanmax(curves, 0)


def list_points(trace: dict[str, Any]) -> tuple[list[Any], FloatArray]:
    """Return positions and values of a trace's points, without gaps."""
    if trace["type"] not in ("scatter", "bar") or "y" not in trace:
        return [], np.zeros(0)
    y = list(trace["y"])
    x = list(trace.get("x", range(len(y))))
    if trace.get("orientation") == "h":
        x, y = y, x
    finite = [i for i, height in enumerate(y) if isinstance(height, int | float) and np.isfinite(height)]
    return [x[i] for i in finite], np.array([y[i] for i in finite], float)


@dataclass(frozen=True, eq=False)
class CardLine:
    """One series of a study's card: positions x and values y, evenly spaced where the axis is logarithmic."""

    title: str
    color: str
    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, eq=False)
class Card:
    """The small picture of a study: its series, the titles of both axes, and the names of rows of values along x."""

    lines: list[CardLine]
    across: str = ""
    up: str = ""
    rows: dict[float, str] | None = None


def read_card(figure: Chart) -> Card:
    """Return the named series of a figure as a card; all of them if none has a name."""
    logarithmic = figure.parts.get("xaxis", {}).get("type") == "log"
    named = [trace for trace in figure.traces if trace.get("name")]
    lines = []
    for trace in named or figure.traces:
        x, y = list_points(trace)
        if not all(isinstance(position, int | float) for position in x):
            x = list(range(len(x)))
        positions = np.log(np.array(x, float)) if logarithmic else np.array(x, float)
        color = (trace.get("line") or {}).get("color") or (trace.get("marker") or {}).get("color")
        lines.append(CardLine(trace.get("name", ""), color if isinstance(color, str) else _INK, positions, y))
    across, up = (
        (figure.parts.get(axis, {}).get("title") or {}).get("text", "") for axis in ("xaxis", "yaxis")
    )
    rows = None
    if is_horizontal(figure.traces):
        axis = figure.parts.get("yaxis", {})
        rows = dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=True))
        lines = [replace(line, x=line.y, y=-line.x) for line in lines]  # the first row is above
    return Card([line for line in lines if len(line.x)], across, up, rows)


@dataclass(frozen=True)
class _Frame:
    """The place of a card's curves, px, and the ends of both axes."""

    right: int
    bottom: int
    ends: tuple[tuple[float, float], tuple[float, float]]

    def scale(self, values: FloatArray, axis: int) -> FloatArray:
        low, high = self.ends[axis]
        share = (np.asarray(values, float) - low) / ((high - low) or 1)
        across: FloatArray = 16 + (self.right - 20) * share
        down: FloatArray = self.bottom - 4 - (self.bottom - 30) * share
        return down if axis else across

    def join(self, x: FloatArray, y: FloatArray) -> str:
        """Return the points of an SVG's line."""
        points = zip(self.scale(x, 0), self.scale(y, 1), strict=True)
        return " ".join(f"{across:.1f},{down:.1f}" for across, down in points)


def draw_card(card: Card, mode: Mode, is_open: bool) -> str:
    """Return an SVG of a card: the range of all series and a question mark, or once answered each in its colour.

    Args:
        is_open: True until the question is answered; no series is then told from another.
    """
    if not card.lines:
        return ""
    palette, names = PALETTES[mode], [] if is_open else _list_names(card)
    xs, ys = ([getattr(line, axis) for line in card.lines] for axis in "xy")
    ends = [(float(min(map(np.min, axis))), float(max(map(np.max, axis)))) for axis in (xs, ys)]
    right, bottom = CARD_PX[0] - (LABELS_PX if names else 12), CARD_PX[1] - 26
    frame = _Frame(right, bottom, (ends[0], ends[1]))
    parts = []
    if card.across or card.up:
        parts.append(f'<path d="M12 24V{bottom}H{right}" fill="none" stroke="{palette.muted}"/>')
    parts.append(
        _draw_range(card, frame, palette.ink) if is_open else _draw_lines(card, frame, names, palette.ink)
    )
    titles = (card.up, 'x="12" y="15"'), (card.across, f'x="{right}" y="{bottom + 19}" text-anchor="end"')
    for text, place in titles:
        parts.append(
            f'<text {place} fill="{palette.muted}">{escape(cut(re.sub(r"<[^>]*>", "", text), 44))}</text>'
        )
    width, height = CARD_PX
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="13">{"".join(parts)}</svg>'
    )


def _draw_lines(card: Card, frame: _Frame, names: list[tuple[float, str, str]], ink: str) -> str:
    """Return the series in their colours, and their titles beside their ends."""
    pen = f'fill="none" stroke-linecap="round" stroke-width="{2.5 if card.rows is None else 5}"'
    parts = [
        f'<polyline points="{frame.join(line.x, line.y)}" stroke="{line.color}" {pen}/>'
        for line in card.lines
    ]
    heights = frame.scale(np.array([height for height, *_ in names]), 1).tolist()
    for y, (_, color, title) in zip(spread_labels(heights, frame.bottom), names, strict=True):
        dot = f'<tspan fill="{color}">● </tspan>' if card.rows is None else ""
        place = f'x="{frame.right + 6}" y="{y + 4:.1f}"'
        parts.append(f'<text {place} fill="{ink}">{dot}{escape(cut(title, 16))}</text>')
    return "".join(parts)


def _list_names(card: Card) -> list[tuple[float, str, str]]:
    """Return height, colour and title of each series at its last point, or of each row, from above."""
    if card.rows is not None:
        rows = card.rows.items() if len(card.rows) <= MOST_LABELS else ()
        names = [(-row, "", title) for row, title in rows]
    else:
        names = [(float(line.y[-1]), line.color, line.title) for line in card.lines if line.title]
    return sorted(names, key=lambda name: -name[0])[:MOST_LABELS]


def spread_labels(places: list[float], bottom: float) -> list[float]:
    """Move heights, from above, so that no two labels overlap and the last stands above the axis."""
    low = -LINE_PX
    for index, place in enumerate(places):
        low = places[index] = max(place, low + LINE_PX)
    high = bottom - 6
    for index in reversed(range(len(places))):
        high = places[index] = min(places[index], high)
        high -= LINE_PX
    return places


def _draw_range(card: Card, frame: _Frame, ink: str) -> str:
    """Return the range of all series at every position, or the whole range of rows, under a question mark."""
    if card.rows is not None:
        x, y = (np.array(end, float) for end in frame.ends)
        corners = frame.join(x[[0, 1, 1, 0]], y[[0, 0, 1, 1]])
    else:
        traces = [{"type": "scatter", "x": line.x.tolist(), "y": line.y.tolist()} for line in card.lines]
        positions, low, high = find_range(traces)
        around = np.array([*positions, *positions[::-1]], float)
        corners = frame.join(around, np.concatenate([low, high[::-1]]))
    middle = f'x="{frame.right / 2:.0f}" y="{frame.bottom / 2 + 38:.0f}" text-anchor="middle"'
    return (
        f'<g opacity="0.28"><polygon points="{corners}" fill="#7F7F7F" stroke="#7F7F7F" stroke-width="6"/></g>'
        f'<text {middle} font-size="64" fill="{ink}">?</text>'
    )
