"""Check the start page on a real server: animation, opened layer and tables, by pointer, keys and on a phone."""

from __future__ import annotations

import re
import urllib.parse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import MOVING, Visit, settle

pytestmark = pytest.mark.browser


def opener(page: Page, part: str) -> Locator:
    return page.locator(f'[data-part="{part}"] .mp-open')


def opened_to_its_numbers(page: Page) -> None:
    """The panel of layer 2, with one softmax row and, at the third depth, its tables."""
    panel = page.locator(".mp-panel")
    expect(panel).to_contain_text("Softmax row", timeout=60_000)  # the first answer loads torch
    expect(panel).to_contain_text("Residual addition")
    page.wait_for_function("() => location.search.includes('home.part=block.2')")


def test_the_journey_plays_and_a_layer_opens_to_its_numbers(visit: Visit) -> None:
    page = visit(**MOVING)
    expect(page.locator(".mp-part")).to_have_count(12)
    page.get_by_role("button", name="Play animation").click()
    expect(page.locator(".mp-said")).to_contain_text("is cut out")
    page.get_by_role("button", name="Pause").click()
    opener(page, "block.2").click()
    opened_to_its_numbers(page)
    page.get_by_role("button", name="Show tables").click()
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    page.locator(".mp-panel").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Inside a block", level=1)).to_be_visible()
    page.wait_for_function("() => location.search.includes('block.layer=2')")


def test_the_same_with_keys_alone(visit: Visit) -> None:
    page = visit("?model=preset:vit_digits", **MOVING)
    page.get_by_role("button", name="Play animation").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".mp-said")).to_contain_text("is cut out")
    page.keyboard.press("Escape")
    opener(page, "block.2").focus()
    page.keyboard.press("Enter")
    opened_to_its_numbers(page)
    button = page.get_by_role("button", name="Show tables")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".mp-panel")).to_have_count(0)
    page.wait_for_function("() => !location.search.includes('home.part')")


def test_on_a_phone_it_runs_from_top_to_bottom(visit: Visit) -> None:
    page = visit("?model=preset:vit_digits", width=390, height=844)
    tops = [opener(page, part).bounding_box()["y"] for part in ("picture", "embed", "block.1", "head")]
    assert tops == sorted(tops)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")
    opener(page, "block.2").click()
    opened_to_its_numbers(page)
    page.get_by_role("button", name="Show tables").click()
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")


def test_a_link_opens_its_part_and_a_pin_stays_with_it(visit: Visit) -> None:
    page = visit("?model=preset:vit_digits&home.part=positions&pin=0.900,0.100")
    panel = page.locator(".mp-panel")
    expect(panel).to_contain_text("row 1, column 8", timeout=60_000)
    tile = page.locator("[data-part=patches] canvas")
    box = tile.bounding_box()
    tile.click(position={"x": box["width"] / 16, "y": box["height"] / 16})
    expect(panel).to_contain_text("row 1, column 1")
    settle(page)
    link = panel.get_by_role("link").get_attribute("href")
    assert re.search(r"pin=0\.06[23],0\.06[23]", urllib.parse.unquote(link or ""))
