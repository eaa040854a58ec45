"""Describe charts as plain dictionaries, which the browser draws (pages/views/chart.js) and notebooks hand to Plotly.

Traces, shapes, annotations and axes have the names of Plotly's, of which the view draws those that the methods here and
the modules of this folder use. A hover text is a template such as '%{x:,} images: %{y:.1f} %', shown below the name of
its trace; text is never interpreted as HTML.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from vitviz.plots import theme
from vitviz.plots.blob import pack

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

from math import log10

Parts = dict[str, Any]
_END = {"right": (1, "right"), "left": (0, "left"), "top": (1, "top"), "bottom": (0, "bottom")}
ROOM = 0.05  # of the span, beside the outermost values


class Chart:
    """Traces and layout of a chart as they are added."""

    def __init__(self, mode: theme.Mode) -> None:
        self.mode = mode
        self.traces: list[Parts] = []
        self.parts: Parts = {}  # of the layout

    @property
    def height(self) -> int:
        """Height in px."""
        return int(self.parts.get("height", 360))

    def pack(self) -> bytes:
        """Return the chart as a message for the browser, with its arrays as bytes."""
        return _pack(self.describe())

    def describe(self) -> Parts:
        """Return the header of the chart's message."""
        return {"mode": self.mode, "data": self.traces, "layout": self.parts}

    def to_plotly(self) -> "Figure":
        """Return the chart as a Plotly figure, for a notebook."""
        from plotly.graph_objects import Figure

        layout = merge_layout(theme.layout(self.mode), self.parts)
        return Figure(_escape({"data": self.traces, "layout": layout}))

    def add(self, kind: str, **trace: Any) -> None:
        """Add a trace: 'scatter', 'bar', 'heatmap' or 'image'."""
        self.traces.append({"type": kind, **trace})

    def curve(
        self,
        title: str,
        x: Iterable[Any],
        y: Iterable[float | None],
        style: tuple[str, str],
        hover: str,
        ends: tuple[Iterable[float], Iterable[float]] | None = None,
        **trace: Any,
    ) -> None:
        """Add a line with a marker at each point.

        Args:
            hover: template of a point's text.
            ends: lowest and highest value at each point, drawn as a bar.
            trace: further parts of the trace, such as a `line` of another width.
        """
        heights = [None if height is None or not math.isfinite(height) else float(height) for height in y]
        color, symbol = style
        line = {"color": color, "width": 2.5, **trace.pop("line", {})}
        if ends is not None:
            middle = [height or 0.0 for height in heights]
            trace["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [float(high) - at for high, at in zip(ends[1], middle, strict=True)],
                "arrayminus": [at - float(low) for low, at in zip(ends[0], middle, strict=True)],
                "color": color,
                "thickness": 1.5,
                "width": 5,
            }
        self.add(
            "scatter",
            name=title,
            x=list(x),
            y=heights,
            mode="lines+markers",
            line=line,
            marker={"color": color, "symbol": symbol, "size": 9},
            hovertemplate=hover,
            **trace,
        )

    def band(self, x: Any, low: Any, high: Any, color: str, **trace: Any) -> None:
        """Fill between two lines, at 15 % of a colour."""
        edge = {"x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        self.add("scatter", y=low, **edge)
        self.add("scatter", y=high, fill="tonexty", fillcolor=color, **{"opacity": 0.15, **edge, **trace})

    def seeds(
        self,
        values: Sequence[float],
        row: float,
        half: float,
        style: tuple[str, str, str],
        hover: str,
        ends: tuple[float, float] | None,
        **dots: Any,
    ) -> None:
        """Add a dot for each of the values along x, a bar of 2 `half` rows at their mean, and its interval.

        Args:
            ends: of the interval; None draws none.
            style: colour and symbol of the dots, and colour of the bar.
            hover: template of a dot's text.
            dots: further parts of the dots' trace.
        """
        color, symbol, ink = style
        mean = float(np.mean(values))
        marker = {"size": 10, "color": color, "symbol": symbol, "opacity": 0.75}
        bar = {"mode": "lines", "line": {"color": ink, "width": 3}, "hoverinfo": "skip", "showlegend": False}
        named = {"mode": "markers", "marker": marker, "hovertemplate": hover, **dots}
        lines = [
            ([*values], [row] * len(values), named),
            ([mean] * 2, [row - half, row + half], bar),
        ]
        if len(values) == 1:  # whose bar would cover it
            del lines[1]
        if ends is not None:
            lines.append(([*ends], [row] * 2, {**bar, "line": {"color": ink, "width": 1.5}}))
        for x, y, trace in lines:
            self.add("scatter", x=x, y=y, orientation="h", **trace)

    def with_legend(self, height: int, **axes: Any) -> "Chart":
        """Add a legend above the chart and axes, which are parts of the layout; return the chart."""
        self.layout(height=height, showlegend=True, **axes)
        return self

    def layout(self, **changes: Any) -> None:
        """Merge parts into the layout, including nested dictionaries."""
        self.parts = merge_layout(self.parts, changes)

    def shape(self, **shape: Any) -> None:
        """Add a shape in the coordinates of the axes."""
        self.parts.setdefault("shapes", []).append(shape)

    def note(self, **annotation: Any) -> None:
        """Add a label in the coordinates of the axes, without an arrow."""
        self.parts.setdefault("annotations", []).append({"showarrow": False, **annotation})

    def vline(self, x: float, line: Parts, note: Parts | None = None, at: str = "top") -> None:
        """Add a line over the whole height, with a label right of it at the top or the bottom."""
        self.shape(type="line", xref="x", yref="y domain", x0=x, x1=x, y0=0, y1=1, line=line)
        if note is not None:
            y, anchor = _END[at]
            place = {"xref": "x", "yref": "y domain", "x": x, "y": y, "xanchor": "left", "yanchor": anchor}
            self.note(**{**place, **note})

    def hline(self, y: float, text: str = "", **line: Any) -> None:
        """Add a line over the whole width, by default thin and dotted, with a label below its right end."""
        line = {"color": theme.PALETTES[self.mode].muted, "width": 1, "dash": "dot"} | line
        self.shape(type="line", xref="x domain", yref="y", x0=0, x1=1, y0=y, y1=y, line=line)
        if text:
            font = {"color": line["color"], "size": 13}
            self.note(text=text, xref="x domain", x=1, y=y, xanchor="right", yanchor="top", font=font)


@dataclass(frozen=True)
class Panel:
    """A chart with a title and a note, which stands beside another."""

    title: str
    note: str
    chart: Chart


def pack_panels(panels: Sequence[Panel], share: float) -> bytes:
    """Return the message of one or two panels for pages/views/race.js; the first has a share of the width."""
    charts = [{"title": panel.title, "note": panel.note, **panel.chart.describe()} for panel in panels]
    return _pack({"charts": charts, "share": share})


def _pack(header: Parts) -> bytes:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    return pack(_refer(header, arrays), **arrays)


def _escape(node: Any) -> Any:
    """Escape all texts, so that Plotly does not interpret a name such as `<b>` or `<a href>`."""
    if isinstance(node, dict):
        return {name: _escape(part) for name, part in node.items()}
    if isinstance(node, list):
        return [_escape(part) for part in node]
    return escape(node, quote=False) if isinstance(node, str) else node


def _refer(node: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return JSON that names the arrays of a value, which are collected in `arrays`; NaN is null."""
    if isinstance(node, dict):
        return {name: _refer(part, arrays) for name, part in node.items()}
    if isinstance(node, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = node.astype(np.int32) if node.dtype == np.int64 else node
        return {"ref": name}
    if isinstance(node, list | tuple):
        return [_refer(part, arrays) for part in node]
    if isinstance(node, np.generic):
        node = node.item()
    return None if isinstance(node, float) and not math.isfinite(node) else node


def merge_layout(base: Parts, changes: Parts) -> Parts:
    """Return a copy of `base` with changes merged in, including nested dictionaries."""
    out = dict(base)
    for key, change in changes.items():
        old = out.get(key)
        out[key] = merge_layout(old, change) if isinstance(old, dict) and isinstance(change, dict) else change
    return out


def log_axis(values: Sequence[float], room: float = ROOM) -> dict[str, Any]:
    """Return a logarithmic axis around positive values, with `room` of the span beside the outermost ones."""
    low, high = (log10(pick(values)) for pick in (min, max))
    room *= max(high - low, 0.3)
    return {"type": "log", "range": [low - room, high + room]}


def sizes_axis(sizes: Sequence[float], title: str, unit: str = "") -> dict[str, Any]:
    """Return a logarithmic axis with a tick for every size."""
    names = [f"{size:,.10g}{unit}" for size in sizes]
    return {**log_axis(sizes), "title": {"text": title}, "tickvals": list(sizes), "ticktext": names}
