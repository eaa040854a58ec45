"""Build Plotly figures as plain dictionaries.

Plotly checks every value that is set on a `go.Figure`, copies all of them when it writes them out, and adds seven
kilobytes of a template: that takes longer than all else that a page does. The parts here are checked once, in the
tests, and are written out as they stand.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from _plotly_utils.utils import to_typed_array_spec

from vitviz.plots import theme

_AXIS = {
    "automargin": True,
    "gridcolor": "white",
    "linecolor": "white",
    "ticks": "",
    "title": {"standoff": 15},
    "zerolinecolor": "white",
    "zerolinewidth": 2,
}
# Of Plotly's default template what these figures can show; without one it would add all of it.
_TEMPLATE: dict[str, Any] = {
    "data": {
        "bar": [{"marker": {"line": {"color": "#E5ECF6", "width": 0.5}}, "type": "bar"}],
        "heatmap": [{"colorbar": {"outlinewidth": 0, "ticks": ""}, "type": "heatmap"}],
    },
    "layout": {
        "annotationdefaults": {"arrowcolor": "#2a3f5f", "arrowhead": 0, "arrowwidth": 1},
        "autotypenumbers": "strict",
        "coloraxis": {"colorbar": {"outlinewidth": 0, "ticks": ""}},
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        "shapedefaults": {"line": {"color": "#2a3f5f"}},
        "title": {"x": 0.05},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    },
}
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 14}}
_END = {"right": (1, "right"), "left": (0, "left"), "top": (1, "top"), "bottom": (0, "bottom")}


def escape_text(text: str) -> str:
    """Escape text, so that Plotly does not interpret `<b>` or `<a href>`."""
    return escape(text, quote=False)


class PlainFigure:
    """Traces, shapes and layout as they are added; `figure()` hands them to Plotly unchecked."""

    def __init__(self, mode: theme.Mode) -> None:
        self._traces: list[dict[str, Any]] = []
        self._layout: dict[str, Any] = {**theme.layout(mode), "template": _TEMPLATE}

    def add(self, kind: str, **trace: Any) -> None:
        """Add a trace such as 'scatter', 'bar' or 'heatmap'."""
        self._traces.append({"type": kind, **trace})

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
            style: colour and symbol.
            hover: text of a point in Plotly's template, after the title.
            ends: lowest and highest value at each point, drawn as a bar.
            trace: further parts of the trace, such as a `line` of another width.
        """
        heights = [None if value is None or not math.isfinite(value) else float(value) for value in y]
        color, symbol = style
        line = {"color": color, "width": 2.5, **trace.pop("line", {})}
        if ends is not None:
            middle = [value or 0.0 for value in heights]
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
            hovertemplate=f"{title}, {hover}<extra></extra>",
            **trace,
        )

    def seeds(
        self,
        values: Sequence[float],
        row: float,
        half: float,
        style: tuple[str, str, str],
        hover: str,
        **dots: Any,
    ) -> None:
        """Add a dot for each of the values along x, and a bar of 2 `half` rows at their mean.

        Args:
            style: colour and symbol of the dots, and colour of the bar.
            hover: text of a dot in Plotly's template.
            dots: further parts of the dots' trace.
        """
        color, symbol, ink = style
        mean = float(np.mean(values))
        marker = {"size": 10, "color": color, "symbol": symbol, "opacity": 0.75}
        bar = {"mode": "lines", "line": {"color": ink, "width": 3}, "hoverinfo": "skip", "showlegend": False}
        named = {"mode": "markers", "marker": marker, "hovertemplate": f"{hover}<extra></extra>", **dots}
        for x, y, trace in (
            ([*values], [row] * len(values), named),
            ([mean] * 2, [row - half, row + half], bar),
        ):
            self.add("scatter", x=x, y=y, orientation="h", **trace)

    def with_legend(self, height: int, **axes: Any) -> go.Figure:
        """Return the figure with a legend above it; `axes` are parts of the layout."""
        self.layout(height=height, showlegend=True, legend=LEGEND, **axes)
        return self.figure()

    def layout(self, **changes: Any) -> None:
        """Merge parts into the layout, including nested dictionaries."""
        self._layout = merge_layout(self._layout, changes)

    def shape(self, **shape: Any) -> None:
        """Add a shape in the coordinates of the axes."""
        self._layout.setdefault("shapes", []).append(shape)

    def note(self, **annotation: Any) -> None:
        """Add a label in the coordinates of the axes, without an arrow."""
        self._layout.setdefault("annotations", []).append({"showarrow": False, **annotation})

    def vline(
        self, x: float, line: dict[str, Any], note: dict[str, Any] | None = None, at: str = "top"
    ) -> None:
        """Add a line over the whole height, with a label right of it at the top or the bottom."""
        self.shape(type="line", xref="x", yref="y domain", x0=x, x1=x, y0=0, y1=1, line=line)
        if note is not None:
            y, anchor = _END[at]
            self.note(
                **{
                    "xref": "x",
                    "yref": "y domain",
                    "x": x,
                    "y": y,
                    "xanchor": "left",
                    "yanchor": anchor,
                    **note,
                }
            )

    def hline(self, y: float, line: dict[str, Any]) -> None:
        """Add a line over the whole width."""
        self.shape(type="line", xref="x domain", yref="y", x0=0, x1=1, y0=y, y1=y, line=line)

    def figure(self) -> go.Figure:
        """Return the figure; Plotly validates nothing before serialisation."""
        if (
            "pandas" in sys.modules
        ):  # Plotly takes it from there even while another thread is still loading it
            importlib.import_module("pandas")  # which waits for that thread
        return _Unchecked(self._traces, self._layout)


class _Unchecked(go.Figure):  # type: ignore[misc]
    """A figure that is serialised from its dictionary; Plotly objects are created on access."""

    def __init__(self, traces: list[dict[str, Any]], layout: dict[str, Any]) -> None:
        self._parts: dict[str, Any] = {"data": traces, "layout": layout}
        self._made = False

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("_made", True):
            raise AttributeError(name)
        self._made = True
        super().__init__(self._parts, _validate=False)
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary as Plotly serialises it, with arrays as typed bytes."""
        found: dict[str, Any] = super().to_dict() if self._made else _to_json(self._parts)
        return found


def height_of(figure: go.Figure) -> int | None:
    """Return a figure's height in px, if set, without creating Plotly objects."""
    if isinstance(figure, _Unchecked) and not figure._made:
        height: int | None = figure._parts["layout"].get("height")
    else:
        height = figure.layout.height
    return height


def read_parts(figure: go.Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a figure's traces and layout as dictionaries, without creating Plotly objects where there are none."""
    parts = figure._parts if isinstance(figure, _Unchecked) and not figure._made else figure.to_dict()
    return list(parts["data"]), dict(parts["layout"])


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: part if name == "range" else _to_json(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return to_typed_array_spec(value)
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict | list | tuple | np.ndarray):
        return [_to_json(part) for part in value]
    return value


def merge_layout(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of `base` with changes merged in, including nested dictionaries."""
    out = dict(base)
    for key, value in changes.items():
        old = out.get(key)
        out[key] = merge_layout(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out
