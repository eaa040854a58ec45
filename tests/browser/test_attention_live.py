"""Layer, head and step move the attention maps while they are dragged; the server then draws the same maps."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage, frames_sent, hold_slider, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
VIT = "attention?model=checkpoint:digits_vit&image=digits:3&attention.layer=4&attention.head=2"
SWIN = "attention?model=checkpoint:digits_swin&image=digits:3&attention.layer=2&attention.head=1"


def explorer(page: Page) -> Locator:
    return page.locator("[data-component=explorer]").first


def map_pixels(page: Page) -> list[list[int]]:
    """Return the pixels of the large map and of all small ones."""
    pixels: list[list[int]] = explorer(page).evaluate(
        """root => [...root.querySelectorAll('canvas.ax-cells')].map((node) =>
            [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data])"""
    )
    return pixels


def assert_equal(live: list[list[int]], server: list[list[int]]) -> None:
    """Weights come from the server in 16 bits: a colour may differ by one level."""
    assert [len(each) for each in live] == [len(each) for each in server]
    assert max(abs(a - b) for x, y in zip(live, server, strict=True) for a, b in zip(x, y, strict=True)) <= 3


def test_the_maps_follow_the_layer_without_the_server(open_page: OpenPage) -> None:
    page = open_page(VIT)
    sent = frames_sent(page)
    view = explorer(page)
    before = map_pixels(page)
    hold_slider(page, "attention-layer", 0)
    expect(view).to_have_attribute("data-layer", "1")
    expect(view).to_have_attribute("data-live", "")
    live = map_pixels(page)
    assert live != before and not sent
    expect(page.locator('[data-testid="stMain"]')).to_have_attribute("data-behind", "")
    page.mouse.up()
    page.wait_for_url(re.compile(r"attention\.layer=1(&|$)"))
    expect(view).not_to_have_attribute("data-live", "")
    expect(page.locator('[data-testid="stMain"]')).not_to_have_attribute("data-behind", "")
    assert_equal(live, map_pixels(page))


def test_the_maps_and_the_classes_follow_the_step(open_page: OpenPage) -> None:
    page = open_page(VIT)
    view, bars = explorer(page), page.locator("[data-component=bars]")
    hold_slider(page, "step", 0, steps=1)  # no step between, whose classes come later
    expect(view).to_have_attribute("data-live", "")
    expect(bars).to_have_attribute("data-live", re.compile("."))
    expect(page.locator(".st-key-step [data-testid=stSliderThumbValue]")).to_have_text("0")
    expect(page.locator("[data-component=map_live]")).to_have_attribute("data-shown", "4 2 0")
    live, classes = map_pixels(page), bars.inner_text()
    page.mouse.up()
    page.wait_for_url(re.compile(r"step=0(&|$)"))
    expect(view).not_to_have_attribute("data-live", "")
    settle(page)
    expect(bars).not_to_have_attribute("data-live", re.compile("."))
    assert bars.inner_text() == classes
    assert_equal(live, map_pixels(page))


@pytest.mark.slow
def test_the_maps_follow_a_pointer_over_the_heads(open_page: OpenPage) -> None:
    page = open_page(VIT)
    view = explorer(page)
    heads = view.locator(".ax-heads .ax-thumb")
    sent = frames_sent(page)
    heads.first.scroll_into_view_if_needed()
    first, last = heads.nth(0).bounding_box(), heads.nth(3).bounding_box()
    assert first is not None and last is not None
    page.mouse.move(first["x"] + 20, first["y"] + 20)
    page.mouse.down()
    page.mouse.move(last["x"] + 20, last["y"] + 20, steps=8)
    expect(view).to_have_attribute("data-head", "4")
    expect(view.locator(".ax-layers").locator("xpath=preceding-sibling::*[1]")).to_contain_text("Head 4 in")
    assert not sent
    page.mouse.up()
    page.wait_for_url(re.compile(r"attention\.head=4(&|$)"))


def test_a_model_that_the_browser_does_not_run_sends_one_layer_as_requested(open_page: OpenPage) -> None:
    page = open_page(SWIN)
    view = explorer(page)
    hold_slider(page, "attention-layer", 0)
    expect(view).to_have_attribute("data-layer", re.compile("^1 "))
    expect(view).to_have_attribute("data-live", "")
    live = map_pixels(page)
    page.mouse.up()
    page.wait_for_url(re.compile(r"attention\.layer=1(&|$)"))
    expect(view).not_to_have_attribute("data-live", "")
    heads = view.locator(".ax-heads .ax-thumb").count()
    assert live[: 1 + heads] == map_pixels(page)[: 1 + heads]
