"""Conceal which curve is whose: keep axes and legend, and draw the range of all curves as one grey band.

The card of a study is the same picture in small.
"""

from itertools import accumulate, chain
from math import ceil, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.chart import Chart
from vitviz.text import cut

FloatArray = NDArray[np.float64]
_BAND = "rgba(127, 127, 127, 0.25)"
_QUESTION = {"text": "?", "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "font": {"size": 72}}
CARD_PX = 230
LEGEND_PX = 480.0  # of a card's legend on two lines
ENTRY_PX, LETTER_PX = 48.0, 7.2  # of its entries and their letters
MOST_TALL_ROWS, MOST_LABELS = 5, 9  # of a card: with room for names on two lines, or on one


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
    is_log = {axis: figure.parts.get(f"{axis}axis", {}).get("type") == "log" for axis in "xy"}
    places = np.log10(x) if is_log["x"] else np.array(x, float)
    middle = float(places[0] + places[-1]) / 2
    height = float(np.interp(middle, places, (low + high) / 2))
    return {"x": middle, "y": log10(height) if is_log["y"] else height, "xref": "x", "yref": "y"}


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
    first, last = max(min(x) for x, _ in drawn), min(max(x) for x, _ in drawn)
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


def shrink(figure: Chart, title: str, is_open: bool) -> Chart:
    """Return the chart of a study's card: the range of all curves, or once answered the curves with their names.

    Args:
        title: of the study, which begins the chart's description.
        is_open: True until the question is answered.
    """
    hidden = conceal(figure) if is_open else figure
    card = Chart(figure.mode)
    card.traces = _cut_legend(hidden.traces) if is_open else [_name_at_end(trace) for trace in figure.traces]
    has_names = any(str(trace.get("mode")).endswith("+text") for trace in card.traces)
    card.layout(**hidden.parts)
    card.layout(height=CARD_PX, meta=title, showlegend=is_open or not has_names)
    if "annotations" in hidden.parts:
        question = {"font": {"size": 40}}
        notes = hidden.parts["annotations"]
        card.parts["annotations"] = [note | question if note["text"] == "?" else note for note in notes]
    rows = figure.parts.get("yaxis", {}).get("ticktext", ()) if is_horizontal(figure.traces) else ()
    if len(rows) > MOST_LABELS and not is_open:
        card.layout(yaxis={"showticklabels": False})
    elif len(rows) > MOST_TALL_ROWS:
        every = ceil(len(rows) / MOST_LABELS)
        names = [cut(row, 27) if place % every == 0 else "" for place, row in enumerate(rows)]
        card.layout(yaxis={"ticktext": names})
    return card


def _cut_legend(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return concealed traces with as many entries as fit into a card's legend, and the number of the others."""
    entries = [trace for trace in traces if trace["x"] == [None]]
    ends = accumulate(ENTRY_PX + LETTER_PX * len(entry["name"]) for entry in entries)
    shown = [
        entry | {"mode": entry.get("mode", "lines").removesuffix("+text")}
        for entry, end in zip(entries, ends, strict=True)
        if end <= LEGEND_PX
    ]
    if more := len(entries) - len(shown):
        shown.append(entries[-1] | {"name": f"and {more} more", "mode": "none"})
    return [*shown, *(trace | {"showlegend": False} for trace in traces[len(entries) :])]


def _name_at_end(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace whose name, if it is a line of the legend, stands at its end."""
    mode = trace.get("mode", "")
    is_named = trace.get("name") and mode.startswith("lines") and not mode.endswith("+text")
    return trace | {"mode": f"{mode}+text"} if is_named else trace
