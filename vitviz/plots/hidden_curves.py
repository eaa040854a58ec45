"""Conceal which curve is whose: keep axes and legend, and draw the range of all curves as one grey band.

The card of a study is the same picture in small.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from math import ceil, floor, log10
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.plots.theme import PALETTES, Mode, Palette
from vitviz.text import cut

FloatArray = NDArray[np.float64]
_INK = "#5E86B8"  # readable on both themes
_BAND = "rgba(127, 127, 127, 0.25)"
_QUESTION = {"text": "?", "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "font": {"size": 72}}
CARD_PX = (380, 216)  # also in pages/streamlit_fixes/optional/layout.css
LEFT_PX = 34  # of a card's curves, for the numbers of the axis
LABELS_PX = 128  # beside the lines of a card
ROWS_PX = 206  # at most, of the names of its rows
MOST_TALL_ROWS = 5  # with room for names on two lines
MOST_LABELS = 9
LINE_PX = 14.0  # of a label


def conceal(figure: Chart) -> Chart:
    """Return the figure with one grey band in place of its lines and bars; rows all show the values of all rows."""
    traces = figure.traces
    hidden, question = Chart(figure.mode), dict(_QUESTION)  # in every panel
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
        x, low, high = find_range(traces)
        if x:
            named = {"name": "range of all values", "showlegend": True, "opacity": 1}
            hidden.band(x, low.tolist(), high.tolist(), _BAND, **named)
        is_number = all(isinstance(place, int | float) for place in x)
        if is_number and len({trace.get("xaxis") for trace in traces}) == 1:
            question |= _find_middle(figure, x, low, high)
    notes = [note for note in figure.parts.get("annotations", ()) if note.get("xref") == "x domain"]
    legend = {**figure.parts.get("legend", {}), "itemclick": False}  # nothing reacts before the prediction
    notes = [*notes, question]
    hidden.layout(**{**figure.parts, "showlegend": True, "legend": legend, "annotations": notes})
    return hidden


def _find_middle(figure: Chart, x: list[Any], low: FloatArray, high: FloatArray) -> dict[str, Any]:
    """Return the coordinates of a note in the middle of a band; on a logarithmic axis they are log10 of the value."""
    if not x:
        return {}
    at = len(x) // 2
    places = {"x": float(x[at]), "y": float(low[at] + high[at]) / 2}
    is_log = {axis: figure.parts.get(f"{axis}axis", {}).get("type") == "log" for axis in places}
    logs = {axis: log10(value) if is_log[axis] else value for axis, value in places.items()}
    return {**logs, "xref": "x", "yref": "y"}


def is_horizontal(traces: list[dict[str, Any]]) -> bool:
    """Return True if the rows of a figure are categories and its values lie along x."""
    return any(trace.get("orientation") == "h" for trace in traces)


def find_range(traces: list[dict[str, Any]]) -> tuple[list[Any], FloatArray, FloatArray]:
    """Return the positions along x, and the lowest and the highest value of all traces there.

    Between its points a line is interpolated. Positions outside a trace are left out: the range would jump where the
    trace ends. Categories have the range of all values of the figure.
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
    first, last = find_common_span([x for x, _ in drawn])
    common = [position for position in positions if first <= position <= last]
    if len(common) > 1:
        positions = common
    curves = np.array(
        [
            np.interp(positions, np.array(x, float)[order], y[order], np.nan, np.nan)
            for x, y in drawn
            for order in [np.argsort(x, kind="stable")]
        ]
    )
    return positions, np.nanmin(curves, 0), np.nanmax(curves, 0)


def find_common_span(positions: Sequence[Any]) -> tuple[float, float]:
    """Return the ends of the span along x that all traces cover."""
    return max(min(x) for x in positions), min(max(x) for x in positions)


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
    """The small picture of a study.

    Attributes:
        lines: the series.
        across, up: titles of the axes.
        rows: names of rows, if the values lie along x.
        ends: what the first and the last position along x are called, if not by their numbers.
        common: the same of the positions that all series have.
    """

    lines: list[CardLine]
    across: str = ""
    up: str = ""
    rows: dict[float, str] | None = None
    ends: tuple[str, str] | None = None
    common: tuple[str, str] | None = None


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
    across += ", log scale" if logarithmic and across else ""
    rows = None
    places = [points for trace in named or figure.traces if (points := list_points(trace)[0])]
    is_number = all(isinstance(place, int | float) for place in chain(*places))
    ends, common = None, None
    if places and is_number:
        whole = min(map(min, places)), max(map(max, places))
        ends, common = (
            (_write_end(figure, first), _write_end(figure, last))
            for first, last in (whole, find_common_span(places))
        )
    if is_horizontal(figure.traces):
        ends = None
        axis = figure.parts.get("yaxis", {})
        rows = dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=True))
        lines = [replace(line, x=line.y, y=-line.x) for line in lines]  # the first row is above
    return Card([line for line in lines if len(line.x)], across, up, rows, ends, common)


def _write_end(figure: Chart, place: float) -> str:
    """Return a position along x as the axis of the figure calls it."""
    axis = figure.parts.get("xaxis", {})
    names = dict(zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=False))
    return str(names.get(place, f"{place:,.4g}" if place < 1000 else f"{place:,.0f}"))


def list_ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return at most `most` round numbers from `low` to `high`, evenly spaced."""
    for power in range(floor(log10((high - low) / most)), 20) if high > low else ():
        for factor in (1, 2, 5):
            step = factor * 10.0**power
            first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
            if last - first < most:
                return [round(place * step, 9) for place in range(first, last + 1)]
    return [low]


@dataclass(frozen=True)
class _Frame:
    """The place of a card's curves, px, and the ends of both axes."""

    left: int
    right: int
    bottom: int
    ends: tuple[tuple[float, float], tuple[float, float]]

    def scale(self, values: FloatArray, axis: int) -> FloatArray:
        low, high = self.ends[axis]
        share = (np.asarray(values, float) - low) / ((high - low) or 1)
        across: FloatArray = self.left + 4 + (self.right - self.left - 8) * share
        down: FloatArray = self.bottom - 4 - (self.bottom - 30) * share
        return down if axis else across

    def join(self, x: FloatArray, y: FloatArray) -> str:
        """Return the points of an SVG's line."""
        points = zip(self.scale(x, 0), self.scale(y, 1), strict=True)
        return " ".join(f"{across:.1f},{down:.1f}" for across, down in points)


def draw_card(card: Card, mode: Mode, is_open: bool) -> str:
    """Return the HTML of a card: the range of all series and a question mark, or once answered each in its colour.

    Its shapes are an SVG image; its texts lie over it in the page's font and size, however wide the card is.

    Args:
        is_open: True until the question is answered; no series is then told from another.
    """
    if not card.lines:
        return ""
    palette, names = PALETTES[mode], [] if is_open else _list_names(card)
    if is_open and card.rows is None:  # only where every series has values, over the card's whole width
        positions, low, high = find_range(
            [{"type": "scatter", "x": line.x.tolist(), "y": line.y.tolist()} for line in card.lines]
        )
        x = np.array(positions, float)
        band = [replace(line, x=x, y=edge) for line in card.lines for edge in (low, high)]
        card = replace(card, lines=band, ends=card.common)
    xs, ys = ([getattr(line, axis) for line in card.lines] for axis in "xy")
    ends = [(float(min(map(np.min, axis))), float(max(map(np.max, axis)))) for axis in (xs, ys)]
    has_rows = card.rows is not None and bool(is_open or names)  # with their names at the left
    right, bottom = CARD_PX[0] - (LABELS_PX if names and not has_rows else 12), CARD_PX[1] - 48
    left = _measure_names(card) if has_rows else LEFT_PX
    frame = _Frame(left, right, bottom + (20 if has_rows else 0), (ends[0], ends[1]))
    parts = [_draw_axes(card, frame, palette.muted)] if card.across or card.up else []
    if is_open:
        parts.append(_draw_range(card, frame, palette))
    else:
        parts.append(_draw_lines(card, frame, names, palette.ink))
    shapes, texts = ("".join(kind) for kind in zip(*parts, strict=True))
    if is_open and card.rows is None:
        texts += _draw_titles(card, palette.ink)
    width, height = CARD_PX
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{shapes}</svg>'
    return (
        f'<div style="position:relative;aspect-ratio:{width}/{height};font-size:13px;overflow:hidden">'
        f'<img src="data:image/svg+xml,{quote(svg, safe=" <>=/:;,.()-")}" alt="" style="width:100%">{texts}</div>'
    )


def _measure_names(card: Card) -> int:
    """Return the width of the names of a card's rows."""
    return min(ROWS_PX, 16 + round(7.2 * max(map(len, (card.rows or {0: ""}).values()))))


def _write(text: str, x: float, y: float, color: str, anchor: str = "start", style: str = "") -> str:
    """Return a text whose middle is at the height y of the card, in px of the whole card."""
    shift = {"start": 0, "middle": -50, "end": -100}[anchor]
    place = (
        f"left:{100 * x / CARD_PX[0]:.1f}%;top:{100 * y / CARD_PX[1]:.1f}%;transform:translate({shift}%,-50%)"
    )
    return f'<span style="position:absolute;white-space:pre;color:{color};{place};{style}">{text}</span>'


def _write_row(title: str, y: float, ink: str, rows: int) -> str:
    """Return the name of a row, on several lines if it is long and there are few rows."""
    if rows > MOST_TALL_ROWS:
        return _write(escape(cut(title, 27)), 0, y, ink)
    wide = 100 * (ROWS_PX - 14) / CARD_PX[0]
    return _write(escape(title), 0, y, ink, style=f"width:{wide:.0f}%;white-space:normal;line-height:1.1")


def _draw_dot(color: str) -> str:
    return f'<span style="color:{color}">● </span>'


def _draw_axes(card: Card, frame: _Frame, color: str) -> tuple[str, str]:
    """Return both axes with their titles and numbers; of names along x only the title."""
    left, right, bottom = frame.left, frame.right, frame.bottom
    texts = [(0.0, 10.0, "start", card.up)]
    if card.rows is None:
        ticks = list_ticks(*frame.ends[1])
        heights = frame.scale(np.array(ticks), 1).tolist()
        numbers = [(left - 5.0, y, "end", f"{tick:g}") for tick, y in zip(ticks, heights, strict=True)]
        texts += [number for number in numbers if number[1] > 32]  # below the axis's title
        first, last = card.ends or tuple(f"{end:,.4g}" for end in frame.ends[0])
        texts += [(left, bottom + 13, "start", first), (right, bottom + 13, "end", last)]
        texts.append(((left + right) / 2, bottom + 13, "middle", card.across))
    else:
        ticks = list_ticks(*frame.ends[0])
        places = frame.scale(np.array(ticks), 0).tolist()
        texts += [(x, bottom + 13, "middle", f"{tick:g}") for tick, x in zip(ticks, places, strict=True)]
        texts[0] = (0.0, 10.0, "start", card.across)
    written = [
        _write(escape(cut(re.sub(r"<[^>]*>", "", text), 44)), x, y, color, anchor)
        for x, y, anchor, text in texts
    ]
    return f'<path d="M{left} 24V{bottom}H{right}" fill="none" stroke="{color}"/>', "".join(written)


def _draw_titles(card: Card, ink: str) -> str:
    """Return the titles of all series in one line below the picture: as many as fit, and how many more there are."""
    colors = {line.title: line.color for line in card.lines if line.title}
    shown = [cut(title, 24) for title in colors]
    while sum(len(title) + 4 for title in shown) * 7.4 > CARD_PX[0] - (74 if len(shown) < len(colors) else 0):
        shown.pop()
    parts = [_draw_dot(color) + escape(title) for title, color in zip(shown, colors.values(), strict=False)]
    if len(shown) < len(colors):
        parts.append(f"and {len(colors) - len(shown)} more")
    return _write("   ".join(parts), 0, CARD_PX[1] - 11, ink)


def _draw_lines(card: Card, frame: _Frame, names: list[tuple[float, str, str]], ink: str) -> tuple[str, str]:
    """Return the series in their colours, and their titles beside their ends."""
    pen = f'fill="none" stroke-linecap="round" stroke-width="{2.5 if card.rows is None else 5}"'
    shapes = [
        f'<polyline points="{frame.join(line.x, line.y)}" stroke="{line.color}" {pen}/>'
        for line in card.lines
    ]
    heights = frame.scale(np.array([height for height, *_ in names]), 1).tolist()
    places = zip(spread_labels(heights, frame.bottom), names, strict=True)
    if card.rows is None:
        texts = [
            _write(_draw_dot(color) + escape(cut(title, 16)), frame.right + 6, y, ink)
            for y, (_, color, title) in places
        ]
    else:
        texts = [_write_row(title, y, ink, len(names)) for y, (*_, title) in places]
    return "".join(shapes), "".join(texts)


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


def _draw_range(card: Card, frame: _Frame, palette: Palette) -> tuple[str, str]:
    """Return the range of all series at every position, or in every row, under a question mark."""
    if card.rows is None:
        (positions, low), (_, high) = ((edge.x, edge.y) for edge in card.lines[:2])
        around = np.concatenate([positions, positions[::-1]])
        shapes = [f'<polygon points="{frame.join(around, np.concatenate([low, high[::-1]]))}"/>']
        texts = []
        inner = np.linspace(positions[0], positions[-1], 11)[2:-2]
        low, high = (np.interp(inner, positions, edge) for edge in (low, high))
        widest = int((high - low).argmax())
        x = frame.scale(inner, 0)[widest]
        y = frame.scale((low + high) / 2, 1)[widest]
    else:
        titles = [*card.rows.values()][:MOST_LABELS]
        x, y = (frame.left + frame.right) / 2, frame.bottom / 2 + 15
        heights = np.linspace(38, frame.bottom - 14, len(titles))
        wide = frame.right - frame.left - 4
        shapes = [f'<rect x="{frame.left + 4}" y="{y - 3:.0f}" width="{wide}" height="6"/>' for y in heights]
        texts = [
            _write_row(title, y, palette.ink, len(titles)) for y, title in zip(heights, titles, strict=True)
        ]
    texts.append(_write("?", x, y, palette.ink, "middle", "font-size:40px;font-weight:600"))
    pen = f'opacity="0.5" fill="{palette.muted}" stroke="{palette.muted}" stroke-width="4"'
    return f"<g {pen}>{''.join(shapes)}</g>", "".join(texts)
