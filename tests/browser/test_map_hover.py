"""Check that hovering over the map calls neither the server nor a layout."""

from __future__ import annotations

import pytest

from tests.browser import test_map_view
from tests.browser.test_map_view import Opened

pytestmark = pytest.mark.browser
opened = test_map_view.opened
COUNTED = """() => {
  window.reads = 0;
  const spied = (owner, name) => {
    const { get, value } = Object.getOwnPropertyDescriptor(owner, name);
    const read = function (...given) { window.reads += 1; return (get ?? value).apply(this, given); };
    Object.defineProperty(owner, name, get ? { get: read } : { value: read });
  };
  spied(Element.prototype, 'getBoundingClientRect');
  for (const name of ['clientWidth', 'clientHeight']) spied(Element.prototype, name);
  for (const name of ['offsetWidth', 'offsetHeight', 'offsetTop']) spied(HTMLElement.prototype, name);
}"""


def test_a_hover_reads_no_layout(opened: Opened) -> None:
    page = opened()
    boxes = {
        name: page.locator(f"[data-part={name}] canvas").bounding_box() for name in ("picture", "positions")
    }

    def over(name: str, across: float, down: float) -> None:
        box = boxes[name]
        assert box
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    over("picture", 0.1, 0.1)  # where the map stands is looked up as the pointer comes
    page.evaluate(COUNTED)
    assert page.evaluate("document.body.clientWidth > 0 && window.reads") == 1, "the spy sees nothing"
    for place in ((0.9, 0.1), (0.9, 0.9), (0.4, 0.6)):
        over("picture", *place)
        over("positions", *place)
    assert page.locator(".vv-tip").is_visible()
    assert page.evaluate("window.reads") == 1


def test_the_hint_stays_inside(opened: Opened) -> None:
    page = opened(390)
    for place in (page.locator("[data-part=picture] canvas"), page.locator("[data-part=patches] canvas")):
        for share in (0.05, 0.95):
            area = place.bounding_box()
            assert area
            place.hover(position={"x": area["width"] * share, "y": area["height"] / 2})
            hint = page.locator(".vv-tip").bounding_box()
            assert hint and hint["x"] >= 0 and hint["x"] + hint["width"] <= 390.5
