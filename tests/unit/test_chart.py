"""Charts: every part has a name of Plotly's, which notebooks draw, and what was drawn is what was given."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.colours import by_colour_alone
from tests.messages import chart_of
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.plots import (
    cost,
    data_size,
    distance,
    distillation,
    faithfulness,
    layers,
    logits,
    normalisation,
    positions,
    robustness,
    scoreboard,
    study_charts,
    theme,
)
from vitviz.plots.chart import Chart, merge_layout

Build = Callable[[theme.Mode], Chart]
LINE = np.array([1.0, 0.5, 0.25])
STEPS = np.linspace(0, 1, 5)
FIGURES: dict[str, Build] = {
    "norm": lambda mode: normalisation.norm_figure(np.arange(12.0).reshape(3, 4), 1, 2, mode),
    "stream": lambda mode: normalisation.stream_figure(np.arange(12.0).reshape(3, 4), 1, mode),
    "distribution": lambda mode: distance.distribution_figure(
        np.arange(4.0), np.array([0.2, 0.5, 0.3]), 1.6, theme.HEADS[0], mode
    ),
    "reach": lambda mode: distance.reach_figure(
        ["stem", "block"], [distance.ReachCurve(name, LINE[:2], 0.1 * LINE[:2], 9) for name in "abcd"], mode
    ),
    "reach map": lambda mode: distance.reach_map(np.arange(6.0).reshape(2, 3), mode),
    "two tokens": lambda mode: distillation.similarity_figure(LINE, LINE, 2, mode),
    "who decides like whom": lambda mode: distillation.disagreement_figure(
        ["a", "b", "c"], np.eye(3), 9, mode
    ),
    "faithfulness": lambda mode: faithfulness.curves_figure(
        STEPS,
        {name: (STEPS, STEPS) for name in "abcd"},
        (np.stack([STEPS] * 2), np.stack([STEPS] * 2)),
        "cat",
        mode,
    ),
    "lens": lambda mode: logits.lens_figure(np.full((3, 4), 0.25), list("abcd"), (2, 0), mode),
    "by distance": lambda mode: positions.by_distance_figure({name: (LINE, LINE) for name in "ab"}, mode),
    "resize": lambda mode: positions.resize_figure(
        [24, 32], {"a": [0.5, 0.9], "b": [0.4, 0.9]}, 99, 32, mode
    ),
    "slip": lambda mode: positions.slip_figure(np.eye(5), np.eye(5), (1, 2), mode),
    "moving along": lambda mode: robustness.shift_figure(
        [layers.LayerLine(name, ["stem"], [0.5], i) for i, name in enumerate("abcde")], ["vit"] * 5, mode
    ),
    "in the papers": lambda mode: data_size.pretraining_figure(
        {name: [1.0, 2.0] for name in "abcdef"}, [1.3, 300], mode
    ),
    "probes": lambda mode: layers.over_depth_figure(
        [layers.LayerLine("a", ["stem"], [0.5], model) for model in (0, 0, 1)],
        ("vit", "cnn"),
        "share",
        0.1,
        mode,
        share=True,
    ),
    "rows": lambda mode: study_charts.draw_rows(
        Numbers(dict.fromkeys("ab", "row"), {name: {ALL: {0: 0.5, 1: 0.6}} for name in "ab"}, images=9),
        {"marked": "b", "is_base": True, "printed": [0.4]},
        mode,
    ),
    "board": lambda mode: scoreboard.board_figure(
        [scoreboard.BoardPoint(name, name, 1.0, 2.0) for name in scoreboard.FAMILY],
        scoreboard.Axis("x", "", False),
        scoreboard.Axis("y", "", False),
        mode,
    ),
    "cost": lambda mode: cost.cost_figure(
        cost.Costs(np.array([28.0, 56]), np.array([1.0, 9]), np.array([1.0, 4]), "time", "s"), "N", mode, 30
    ),
}


@pytest.mark.parametrize(("name", "mode"), list(itertools.product(FIGURES, ("light", "dark"))))
def test_plotly_accepts_every_part(name: str, mode: theme.Mode) -> None:
    chart = FIGURES[name](mode)
    figure = chart.to_plotly()  # raises where a name or a value is none of Plotly's
    assert len(figure.data) == len(chart.traces) > 0
    assert figure.layout.font.color == theme.PALETTES[mode].ink


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_told_by_a_colour_alone(name: str) -> None:
    assert by_colour_alone(drawn(name)) == []


LINES = {"type": "scatter", "mode": "lines"}
DOTS = {"type": "scatter", "mode": "markers"}
BAR = {"type": "bar"}


@pytest.mark.parametrize(
    ("traces", "reported"),
    [
        ([LINES | {"line": {"color": c}} for c in ("red", "green")], True),
        ([LINES | {"line": {"color": "red"}} for _ in range(2)], False),
        ([LINES | {"name": name} for name in "ab"], True),  # Plotly gives each a colour of its own
        ([LINES | {"line": {"color": c, "dash": c}} for c in ("red", "green")], False),
        ([LINES | {"name": c, "line": {"color": c}} for c in ("named", "too")], False),
        ([DOTS | {"marker": {"color": c}} for c in ("red", "green")], True),
        ([DOTS | {"marker": {"color": c, "symbol": c}} for c in ("red", "green")], False),
        ([DOTS | {"marker": {"color": ["red", "green"]}}], True),
        ([DOTS | {"marker": {"color": ["red", "green"], "symbol": ["circle", "star"]}}], False),
        ([DOTS | {"marker": {"color": c}, "xaxis": c} for c in ("x", "x2")], False),  # of two panels
        ([BAR | {"marker": {"color": c}} for c in ("red", "green")], True),
        ([BAR | {"marker": {"color": c, "pattern": {"shape": c}}} for c in ("/", "x")], False),
    ],
)
def test_what_a_colour_alone_tells_is_seen(traces: list[dict[str, object]], reported: bool) -> None:
    notes = [{"text": "named"}, {"text": "too"}]
    assert bool(by_colour_alone({"data": traces, "layout": {"annotations": notes}})) == reported


def drawn(name: str) -> dict[str, Any]:
    """The traces and the layout of a chart, as its message tells them."""
    return chart_of(bytes(4) + FIGURES[name]("light").pack())


def test_a_height_is_known_before_the_view_has_loaded() -> None:
    assert FIGURES["reach map"]("light").height == 240
    assert Chart("light").height == 360


def test_a_check_would_notice_a_wrong_part() -> None:
    chart = Chart("light")
    chart.add("scatter", x=[0], y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        chart.to_plotly()


def test_plotly_interprets_no_name() -> None:
    chart = Chart("light")
    chart.add("scatter", x=[0], y=[1], name="<b>bold</b>")
    assert chart.to_plotly().data[0].name == "&lt;b&gt;bold&lt;/b&gt;"
    assert chart_of(bytes(4) + chart.pack())["data"][0]["name"] == "<b>bold</b>"  # the view writes plain text


def test_what_is_drawn_is_what_was_given() -> None:
    (bars,) = drawn("distribution")["data"]
    assert bars["x"] == [0.5, 1.5, 2.5] and bars["y"] == pytest.approx([20, 50, 30])
    (heat,) = drawn("reach map")["data"]
    assert heat["z"] == [[0, 1, 2], [3, 4, 5]]
    assert [line["name"] for line in drawn("lens")["data"]] == ["c", "a"]
    token, channel = drawn("norm")["layout"]["shapes"]  # frames of the second token and of the third channel
    assert (token["y0"], token["x1"], channel["x0"], channel["y1"]) == (1.5, 4.5, 2.5, 3.5)


def test_values_that_are_no_numbers_leave_a_gap() -> None:
    chart = Chart("light")
    chart.add("scatter", x=[np.int64(1), 2], y=[float("nan"), np.float32(0.5)])
    (trace,) = chart_of(bytes(4) + chart.pack())["data"]
    assert (trace["x"], trace["y"]) == ([1, 2], [None, 0.5])


def test_lines_across_carry_their_word() -> None:
    figure = Chart("light")
    figure.vline(3.0, {"width": 1}, {"text": "here"}, "bottom")
    figure.hline(0.5)
    layout = figure.parts
    assert [(s["x0"], s["x1"], s["y0"], s["y1"]) for s in layout["shapes"]] == [
        (3, 3, 0, 1),
        (0, 1, 0.5, 0.5),
    ]
    (word,) = layout["annotations"]
    assert (word["text"], word["x"], word["y"], word["yanchor"]) == ("here", 3.0, 0, "bottom")


def test_merging_leaves_its_parts_alone() -> None:
    base = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge_layout(base, {"a": {"b": 5}, "e": 6}) == {"a": {"b": 5, "c": 2}, "d": 3, "e": 6}
    assert base == {"a": {"b": 1, "c": 2}, "d": 3}
