"""Plotly figures put together as plain dictionaries.

Plotly checks every value that is set on a `go.Figure`, which takes longer than all else that a page does. The parts
here are checked once, in the tests, and cost about a twentieth.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import plotly.graph_objects as go

from vitviz.plots import theme

# What Plotly's default template would say, as far as these figures show it.
_TEMPLATE: dict[str, Any] = {
    "hovermode": "closest",
    "hoverlabel": {"align": "left"},
    "xaxis": {"title": {"standoff": 15}},
    "yaxis": {"title": {"standoff": 15}},
}
_END = {"right": (1, "right"), "left": (0, "left"), "top": (1, "top"), "bottom": (0, "bottom")}


class PlainFigure:
    """Traces, shapes and layout as they are added; `figure()` hands them to Plotly unchecked."""

    def __init__(self, mode: theme.Mode) -> None:
        self._traces: list[dict[str, Any]] = []
        self._layout: dict[str, Any] = merged(theme.layout(mode), _TEMPLATE)

    def add(self, kind: str, **trace: Any) -> None:
        """A trace such as 'scatter', 'bar' or 'heatmap'."""
        self._traces.append({"type": kind, **trace})

    def layout(self, **changes: Any) -> None:
        """Parts of the layout; what is nested is merged into what stands there."""
        self._layout = merged(self._layout, changes)

    def shape(self, **shape: Any) -> None:
        """A shape in the coordinates of the axes."""
        self._layout.setdefault("shapes", []).append(shape)

    def note(self, **annotation: Any) -> None:
        """A word in the coordinates of the axes, without an arrow."""
        self._layout.setdefault("annotations", []).append({"showarrow": False, **annotation})

    def vline(
        self, x: float, line: dict[str, Any], note: dict[str, Any] | None = None, at: str = "top"
    ) -> None:
        """A line over the whole height, with a word right of it at the top or the bottom."""
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
        """A line over the whole width."""
        self.shape(type="line", xref="x domain", yref="y", x0=0, x1=1, y0=y, y1=y, line=line)

    def figure(self) -> go.Figure:
        """The figure; Plotly sees its values when it writes them out."""
        if (
            "pandas" in sys.modules
        ):  # Plotly takes it from there even while another thread is still loading it
            importlib.import_module("pandas")  # which waits for that thread
        return go.Figure({"data": self._traces, "layout": self._layout}, _validate=False)


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy of `base` with changes put in, dictionaries into dictionaries."""
    out = dict(base)
    for key, value in changes.items():
        old = out.get(key)
        out[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out
