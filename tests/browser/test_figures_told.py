"""Plotly's figures in words: what they draw, computed in the browser from their own numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
TOLD = """async ([layout, data]) => {
  const { describeFigures } = await import('/pages/frame/figure_descriptions.js');
  describeFigures();
  const plot = document.createElement('div');
  const full = { ...layout, yaxis: { title: { text: 'Click to enter Y axis title' }, ...layout.yaxis } };
  Object.assign(plot, { layout, _fullLayout: full, _fullData: data, on() {} });
  plot.className = 'js-plotly-plot';
  document.body.replaceChildren(plot);
  await new Promise((done) => setTimeout(done));
  return [plot.getAttribute('role'), plot.getAttribute('aria-label')];
}"""
LINE: dict[str, Any] = {"type": "scatter", "mode": "lines+markers", "visible": True}


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    fresh = browser.new_page()
    fresh.route(f"{site}/", lambda route: route.fulfill(body="<p>", content_type="text/html"))
    fresh.goto(f"{site}/")
    yield fresh
    fresh.close()


AXES = {"xaxis": {"title": {"text": "depth"}}, "yaxis": {"title": {"text": "<b>share</b>"}}}


@pytest.mark.parametrize(
    ("layout", "data", "words"),
    [
        (
            AXES,
            [
                LINE | {"name": "a&lt;b", "x": [1, 2], "y": [0.5, -0.25]},
                LINE | {"name": "c", "x": [1], "y": [None]},
            ],
            "share over depth: a<b: from 0.5 at 1 to −0.25 at 2",
        ),
        (
            {"xaxis": {"tickvals": [0, 1], "ticktext": ["first", "last"]}, "yaxis": {}},
            [LINE | {"x": [0, 1], "y": [0.5, 1]}, LINE | {"x": [0], "y": [9], "hoverinfo": "skip"}],
            "Figure: from 0.5 at first to 1 at last",
        ),
        (
            {},
            [{"type": "bar", "visible": True, "orientation": "h", "x": [1, 3, 2], "y": ["p", "q", "r"]}],
            "Figure: most 3 at q",
        ),
        (
            {},
            [{"type": "heatmap", "visible": True, "z": [[0, 1], [None, -2]]}],
            "Figure: 2 by 2 cells from −2 to 1",
        ),
        ({}, [LINE | {"x": [0], "y": [n]} for n in range(1, 11)], ", and 2 more lines"),
    ],
)
def test_a_figure_is_told(page: Page, layout: object, data: object, words: str) -> None:
    role, said = page.evaluate(TOLD, [layout, data])
    assert role == "img" and said.endswith(words)


def test_figures_of_a_page_are_told_when_plotly_has_drawn_them(visit: Any) -> None:
    page = visit("positions")
    figure = page.locator('.js-plotly-plot[role="img"][aria-label^="mean cosine over distance"]').first
    figure.wait_for()
    assert "Learned: from " in str(figure.get_attribute("aria-label"))
