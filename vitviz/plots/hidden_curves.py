"""Conceal which curve is whose: keep axes and legend, and draw the range of all curves as one grey band."""

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart

FloatArray = NDArray[np.float64]
_INK = "#5E86B8"  # readable on both themes
_BAND = "rgba(127, 127, 127, 0.25)"


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
    hidden.layout(**{**figure.parts, "showlegend": True, "annotations": notes})
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


def draw_sketch(lines: list[tuple[FloatArray, FloatArray]], *, width: int = 240, height: int = 96) -> str:
    """Return an SVG of unlabelled lines in one colour."""
    drawn = [(x, y) for x, y in lines if len(x) > 1]
    if not drawn:
        return ""
    left, right = min(x.min() for x, _ in drawn), max(x.max() for x, _ in drawn)
    bottom, top = min(y.min() for _, y in drawn), max(y.max() for _, y in drawn)
    paths = []
    for x, y in drawn:
        across = 4 + (width - 8) * (x - left) / ((right - left) or 1)
        down = height - 4 - (height - 8) * (y - bottom) / ((top - bottom) or 1)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        paths.append(f'<polyline points="{points}" fill="none" stroke="{_INK}" stroke-width="2"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"{''.join(paths)}</svg>"
    )


def list_lines(figure: Chart) -> list[tuple[FloatArray, FloatArray]]:
    """Return the lines of a figure for a sketch; a logarithmic axis and categories become evenly spaced numbers."""
    logarithmic = figure.parts.get("xaxis", {}).get("type") == "log"
    lines = []
    for trace in figure.traces:
        x, y = list_points(trace)
        if not all(isinstance(position, int | float) for position in x):
            x = list(range(len(x)))
        line = np.log(np.array(x, float)) if logarithmic else np.array(x, float), y
        lines.append(line[::-1] if is_horizontal([trace]) else line)
    return lines
