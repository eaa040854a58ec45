"""Charts in the browser: what they draw in words, under the pointer and by keyboard, and lines that are hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser
DRAW = """async ([data, layout, mode]) => {
  const { default: Chart } = await import('/pages/views/chart.js');
  const { createView } = await import('/vitviz/browser/kit/dom.js');
  const { theme } = await import('/vitviz/browser/kit/colour_ramp.js');
  const root = document.createElement('div');
  document.body.replaceChildren(root);
  window.update = createView(Chart, { root });
  window.message = { header: { mode: 'light', data, layout }, arrays: {}, colors: theme(root), width: 600 };
  window.update(window.message);
  const canvas = root.querySelector('.ch-canvas');
  return [canvas.getAttribute('role'), canvas.getAttribute('aria-label')];
}"""
PRESS = """(key) => {
  const canvas = document.querySelector('.ch-canvas');
  canvas.dispatchEvent(new KeyboardEvent('keydown', { key }));
  return document.querySelector('.vv-live').textContent;
}"""
# Draw heads by layer, (layers, heads), and return the places of their dots and of the line's label (x, y, width).
DRAW_HEADS = """async ([values, spread]) => {
  const { default: HeadDistance } = await import('/pages/lenses/attention_distance/head_distance.js');
  const { createView } = await import('/vitviz/browser/kit/dom.js');
  const { theme } = await import('/vitviz/browser/kit/colour_ramp.js');
  const root = document.createElement('div');
  document.body.replaceChildren(root);
  const kind = CanvasRenderingContext2D.prototype;
  const { arc, fillText } = kind;
  const drawn = { dots: [], label: null };
  kind.arc = function (x, y, radius, ...rest) {
    if (radius === 5) drawn.dots.push([x, y]);
    arc.call(this, x, y, radius, ...rest);
  };
  kind.fillText = function (text, x, y) {
    if (text === 'uniform') drawn.label = [x, y, this.measureText(text).width];
    fillText.call(this, text, x, y);
  };
  const shape = [1, values.length, values[0].length];
  const data = Float32Array.from(values.flat());
  const spread0 = { data: data.map(() => spread), shape };
  const header = {
    series: ['a'], bars: ['interval'], steps: [0], shown: 0,
    training: { steps: [0], epochs: [], joined: 1 },
    axis: 'px', unit: 'px', lines: [{ value: 10, label: 'uniform' }],
  };
  const arrays = { values0: { data, shape }, spread0 };
  createView(HeadDistance, { root, onUnmount() {} })({ header, arrays, colors: theme(root), width: 900 });
  Object.assign(kind, { arc, fillText });
  return drawn;
}"""
# Draw the live lab's dots, byte values (layers, series) up to `hi`; return its marks by value, and the dots, in px.
DRAW_DOTS = """async ([rows, hi]) => {
  const { drawCard } = await import('/pages/train/lab/timeline_draw.js');
  const { canvas } = await import('/vitviz/browser/kit/dom.js');
  const { theme } = await import('/vitviz/browser/kit/colour_ramp.js');
  document.body.replaceChildren();
  const drawn = { marks: {}, dots: [] };
  const kind = CanvasRenderingContext2D.prototype;
  const { arc, fillText } = kind;
  kind.arc = function (x, y, ...rest) {
    drawn.dots.push(y);
    arc.call(this, x, y, ...rest);
  };
  kind.fillText = function (text, x, y) {
    if (this.textAlign === 'right') drawn.marks[text] = y;
    fillText.call(this, text, x, y);
  };
  const norms = { shape: [1, rows.length, rows[0].length], data: Uint8Array.from(rows.flat()) };
  const header = { pictures: [{ name: 'norms', kind: 'dots', hi }] };
  const now = { header, arrays: { norms }, colors: theme(document.body) };
  drawCard({ now, state: { index: 0, place: 0 }, cards: [{ map: canvas(document.body) }] }, 0);
  Object.assign(kind, { arc, fillText });
  return drawn;
}"""
LINE: dict[str, Any] = {"type": "scatter", "mode": "lines+markers", "line": {"color": "#0072B2"}}
TEMPLATE = "%{x:,} images: %{y:+.1f} %, %{customdata[0]}"


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    fresh = browser.new_page()
    fresh.route(f"{site}/", lambda route: route.fulfill(body="<p>", content_type="text/html"))
    fresh.goto(f"{site}/")
    yield fresh
    fresh.close()


def draw(page: Page, data: object, layout: object) -> list[str]:
    role_and_label: list[str] = page.evaluate(DRAW, [data, layout, "light"])
    return role_and_label


AXES = {"xaxis": {"title": {"text": "depth"}}, "yaxis": {"title": {"text": "share"}}}


@pytest.mark.parametrize(
    ("layout", "data", "words"),
    [
        (
            AXES,
            [
                LINE | {"name": "a<b", "x": [1, 2], "y": [0.5, -0.25]},
                LINE | {"name": "c", "x": [1], "y": [None]},
            ],
            "share over depth: a<b: from 1: 0.5 to 2: −0.25. Arrow keys read values.",
        ),
        (
            {"xaxis": {"type": "log"}},
            [
                LINE
                | {
                    "x": [250, 48000],
                    "y": [1, 2.25],
                    "customdata": [["p"], ["q"]],
                    "hovertemplate": TEMPLATE,
                },
                LINE | {"x": [300], "y": [9], "hoverinfo": "skip"},
            ],
            "Figure: from 250 images: +1.0 %, p to 48,000 images: +2.3 %, q. Arrow keys read values.",
        ),
        (
            {},
            [
                {
                    "type": "bar",
                    "orientation": "h",
                    "x": [1, 3, 2],
                    "y": ["p", "q", "r"],
                    "marker": {"color": "red"},
                }
            ],
            "Figure: maximum at 3: q. Arrow keys read values.",
        ),
        (
            {},
            [{"type": "heatmap", "z": [[0, 1], [None, -2]], "colorscale": [[0, "#000000"], [1, "#ffffff"]]}],
            "Figure: 2 by 2 cells from −2 to 1. Arrow keys read values.",
        ),
        (
            {},
            [LINE | {"x": [0], "y": [n]} for n in range(1, 11)],
            ", and 2 more lines. Arrow keys read values.",
        ),
    ],
)
def test_a_chart_is_described(page: Page, layout: object, data: object, words: str) -> None:
    role, label = draw(page, data, layout)
    assert role == "application" and label.endswith(words)


def test_a_concealed_chart_has_no_value(page: Page) -> None:
    edge = LINE | {"mode": "lines", "hoverinfo": "skip"}
    band = [
        edge | {"x": [1, 2], "y": [5, 6]},
        edge | {"x": [1, 2], "y": [7, 8], "fill": "tonexty", "name": "range"},
    ]
    assert draw(page, band, AXES) == ["img", "share over depth: range"]
    canvas = page.locator(".ch-canvas")
    assert canvas.evaluate("(node) => node.tabIndex") == -1
    shown = [LINE | {"x": [1, 2], "y": [5, 6]}]
    page.evaluate(
        "(data) => window.update({ ...window.message, header: { mode: 'light', data, layout: {} } })", shown
    )
    assert canvas.evaluate("(node) => [node.tabIndex, node.role]") == [0, "application"]


def test_arrows_read_points_and_the_legend_hides_lines(page: Page) -> None:
    lines = [LINE | {"name": name, "x": [1, 2], "y": [at, at + 1]} for name, at in (("a", 0), ("b", 4))]
    draw(page, lines, {"showlegend": True})
    keys = ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft")
    assert [page.evaluate(PRESS, key) for key in keys] == ["a, 1: 0", "a, 2: 1", "b, 2: 5", "b, 1: 4"]
    page.evaluate("document.querySelectorAll('.ch-legend button')[0].click()")
    page.evaluate(PRESS, "Escape")
    assert [page.evaluate(PRESS, key) for key in keys[:2]] == ["b, 1: 4", "b, 2: 5"]
    assert page.get_by_role("button", name="a", pressed=False).count() == 1


def test_the_pointer_reads_the_nearest_point_and_a_new_message_forgets_it(page: Page) -> None:
    draw(page, [LINE | {"name": "a", "x": [0, 1], "y": [0, 1]}], {})
    box = page.locator(".ch-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 30)
    tip = page.locator(".vv-tip")
    expect(tip).to_have_text(re.compile(r"^a\n1: 1$"))
    expect(tip).to_be_visible()
    page.evaluate("window.update({ ...window.message, header: { ...window.message.header } })")
    expect(tip).to_be_hidden()


LINES_OF_A_RACE = [
    LINE | {"mode": "lines+text", "hovertemplate": "%{y:.1f} %", "name": name, "x": x, "y": y}
    for name, x, y in (("a", [1, 2, 4], [5, 6, 7]), ("b", [2], [7.01]))
]
UNIFIED = {"hovermode": "x unified", "xaxis": {"unifiedhovertitle": {"text": "epoch %{x:.3g}"}}}


def test_all_lines_are_read_at_once_and_a_new_message_keeps_the_place(page: Page) -> None:
    draw(page, LINES_OF_A_RACE, UNIFIED)
    read = [page.evaluate(PRESS, "ArrowRight") for _ in range(3)]
    assert read == ["epoch 1, a 5.0 %", "epoch 2, a 6.0 %, b 7.0 %", "epoch 4, a 7.0 %"]
    tip = page.locator(".vv-tip")
    page.evaluate("window.update({ ...window.message, header: { ...window.message.header } })")
    assert tip.evaluate("(node) => node.style.visibility") == "visible"
    page.evaluate(PRESS, "Escape")
    assert tip.evaluate("(node) => node.style.visibility") == "hidden"


def test_names_at_the_ends_of_lines_are_on_the_canvas_and_apart(page: Page) -> None:
    page.evaluate("""() => {
      const { fillText } = CanvasRenderingContext2D.prototype;
      window.names = {};
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        window.names[text] = [x + this.measureText(text).width, y];
        fillText.call(this, text, x, y);
      };
      window.restore = () => void (CanvasRenderingContext2D.prototype.fillText = fillText);
    }""")
    draw(page, LINES_OF_A_RACE, UNIFIED)
    names = page.evaluate("window.names")
    page.evaluate("() => window.restore()")
    assert names["a"][0] <= 600 and abs(names["a"][1] - names["b"][1]) >= 18


def test_results_that_are_awaited_have_axes_and_notes(page: Page) -> None:
    layout = {"meta": "Results", "annotations": [{"text": "a", "x": 0.5, "y": 0.5}]}
    assert draw(page, [], layout) == ["img", "Results"]


@pytest.mark.parametrize(("apart", "spread"), [(0.0, 0.0), (0.25, 0.1), (1.0, 0.5)])
def test_the_label_of_a_line_covers_no_dot_and_no_bar(page: Page, apart: float, spread: float) -> None:
    values = [[10 + apart * (-1) ** (layer + head) for head in range(8)] for layer in range(6)]
    drawn = page.evaluate(DRAW_HEADS, [values, spread])
    left, middle, width = drawn["label"]
    assert len(drawn["dots"]) == 48
    top, bottom = min(y for _, y in drawn["dots"]), max(y for _, y in drawn["dots"])
    bar = spread * (bottom - top) / (2 * apart or 1)  # in px
    near = [(x, y) for x, y in drawn["dots"] if left - 5 < x < left + width + 5]
    assert not [(x, y) for x, y in near if abs(y - middle) < 8 + max(5, bar)]


def test_the_lab_s_dots_have_round_marks_at_their_true_places(page: Page) -> None:
    drawn = page.evaluate(DRAW_DOTS, [[[0, 51], [255, 102]], 31])
    marks = {float(text): y for text, y in drawn["marks"].items()}
    assert [*marks] == [0, 10, 20, 30]
    for value, y in zip((0, 6.2, 31, 12.4), drawn["dots"], strict=True):
        assert y == pytest.approx(marks[0] + value / 30 * (marks[30] - marks[0]), abs=1)


def test_a_chart_of_a_page_is_described(open_page: Any) -> None:
    page = open_page("positions")
    chart = page.locator('.ch-canvas[aria-label^="mean cosine over distance"]').first
    chart.wait_for()
    assert "Learned: from 1 along rows: " in str(chart.get_attribute("aria-label"))
