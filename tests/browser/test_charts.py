"""Charts in the browser: what they draw in words, under the pointer and by keyboard, and lines that are hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

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
    assert page.evaluate("document.querySelector('.ch-canvas').tabIndex") == -1


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
    assert tip.text_content() == "a\n1: 1" and tip.evaluate("(one) => one.style.visibility") == "visible"
    page.evaluate("window.update({ ...window.message, header: { ...window.message.header } })")
    assert tip.evaluate("(one) => one.style.visibility") == "hidden"


def test_a_chart_of_a_page_is_described(visit: Any) -> None:
    page = visit("positions")
    chart = page.locator('.ch-canvas[aria-label^="mean cosine over distance"]').first
    chart.wait_for()
    assert "Learned: from 1 along rows: " in str(chart.get_attribute("aria-label"))
