"""Test 'What layers see' in a browser: pointer, enlarged layer, and restored link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, settle

pytestmark = pytest.mark.browser
ADDRESS = "layers?model=preset:vit_digits&image=digits:3&pin=0.500,0.500&layers.view=token"


def test_one_pointer_over_all_layers_and_a_link_that_restores_the_stage(open_page: OpenPage) -> None:
    page = open_page(ADDRESS)
    view = page.locator("[data-component=token_similarity]")
    expect(view).to_have_attribute("data-asked", str(4 * 8 + 4))  # the pinned patch asks
    stage = view.locator(".hg-row:first-child .vv-frame")
    box = stage.bounding_box()
    assert box is not None
    before = view.locator(".ly-facts").inner_text()
    stage.hover(position={"x": box["width"] * 6.5 / 8, "y": box["height"] * 1.5 / 8})
    expect(view).to_have_attribute("data-asked", str(8 + 6))
    assert "row 2, column 7" in view.locator(".ly-facts").inner_text() != before
    assert view.locator(".vv-seen:visible").count() == view.locator(".vv-frame").count()
    view.locator(".hg-row + .hg-row .vv-frame").nth(1).click()
    expect(view).to_have_attribute("data-layer", "1")
    expect(page).to_have_url(re.compile(r"layers\.layer=1"))
    view.locator(".hg-row + .hg-row .vv-frame").nth(2).press("Enter")  # no arrow key before it
    expect(view).to_have_attribute("data-layer", "2")
    stage.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"pin=0\.\d+%2C0\.\d+|pin=0\.\d+,0\.\d+"))
    settle(page)
    guest = open_page(
        page.url.partition("/layers")[1].lstrip("/") + page.url.partition("/layers")[2], width=390
    )
    same = guest.locator("[data-component=token_similarity]")
    expect(same).to_have_attribute("data-layer", "2")
    asked = view.get_attribute("data-asked")
    assert asked is not None
    expect(same).to_have_attribute("data-photo", re.compile(r"\d+x\d+"))
    assert guest.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 1
