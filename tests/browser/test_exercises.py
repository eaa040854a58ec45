"""The exercises' tiles and the operation that moves, by mouse and by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser


def test_a_tile_opens_an_exercise_whose_operation_plays(open_page: OpenPage) -> None:
    page = open_page("exercises?model=preset:vit_digits&image=digits:3", reduced_motion="no-preference")
    tiles, operation = page.locator("[data-component=tiles]"), page.locator("[data-component=operation]")
    expect(tiles.locator("button")).to_have_count(9)
    expect(operation.locator(".op-wrong li:has(canvas)")).to_have_count(3)
    expect(operation.get_by_text("The tests also find: channels last.")).to_be_visible()  # the image is grey
    operation.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(operation.get_by_text("patch 1 of 64")).to_be_visible()
    operation.get_by_role("button", name="Play").click()
    expect(operation.get_by_text(re.compile(r"patch (?!1 )\d+ of 64"))).to_be_visible()
    tiles.get_by_role("button", name="One head").click()
    expect(page).to_have_url(re.compile(r"exercises\.task=one_head"))
    expect(operation.get_by_text(re.compile(r"query \d+ of 65"))).to_be_visible()
    page.go_back()
    expect(operation.get_by_text(re.compile("patch .* of 64"))).to_be_visible()
