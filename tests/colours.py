"""What a figure would tell by colour alone, read from what is sent of it."""

from __future__ import annotations

import re
from typing import Any

Trace = dict[str, Any]


def by_colour_alone(figure: dict[str, Any]) -> list[str]:
    """'a, b' for every two of a panel's lines, points or bars that nothing but their colour tells apart.

    What tells them apart: a dash, points' shapes, a fill, a hatch, or a name that is written beside each of them.
    """
    written = {note.get("text", "") for note in figure["layout"].get("annotations", ())}
    written |= {_name(trace) for trace in figure["data"] if re.match("lines.*text$", trace.get("mode", ""))}
    found = [f"points of {_name(trace)}" for trace in figure["data"] if _many(trace)]
    panels: dict[tuple[str, str], list[Trace]] = {}
    for trace in figure["data"]:
        is_band = trace.get("line", {}).get("width") == 0  # around a line
        is_pool = (
            trace.get("hoverinfo") == "skip" and trace.get("mode") == "markers"
        )  # of a guess: of all rows alike
        if trace["type"] in ("scatter", "bar") and not (is_band or is_pool):
            panels.setdefault((trace.get("xaxis", "x"), trace.get("yaxis", "y")), []).append(trace)
    for traces in panels.values():
        for i, one in enumerate(traces):
            found += [
                f"{_name(one)}, {_name(other)}"
                for other in traces[:i]
                if _colour(one) != _colour(other)
                and _shape(one) == _shape(other)
                and not {_name(one), _name(other)} <= written
            ]
    return found


def _name(trace: Trace) -> str:
    return str(trace.get("name", "?"))


def _colour(trace: Trace) -> object:
    """What a trace is drawn in; None is Plotly's own next colour, which is another every time."""
    colour = trace.get("line", {}).get("color") or trace.get("marker", {}).get("color")
    return id(trace) if colour is None else repr(colour)


def _shape(trace: Trace) -> tuple[object, ...]:
    line, marker = trace.get("line", {}), trace.get("marker", {})
    if trace["type"] == "bar":
        return "bar", marker.get("pattern", {}).get("shape", "")
    mode, shapes = trace.get("mode", "lines+markers"), marker.get("symbol", "circle")
    dash = line.get("dash", "solid") if "lines" in mode else "no line"
    points = repr(shapes) if "markers" in mode else "no points"
    return dash, points, trace.get("fill", "")


def _many(trace: Trace) -> bool:
    """Whether single points of one trace differ in nothing but a colour."""
    marker = trace.get("marker", {})
    colours = marker.get("color")
    if not isinstance(colours, list | tuple) or len({*map(str, colours)}) < 2 or trace.get("text"):
        return False
    shapes = marker.get("symbol")
    return not isinstance(shapes, list | tuple) or len({*shapes}) < len({*map(str, colours)})
