"""The attention matrix and its image, linked in both directions."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser
MATRIX = "attention?model=preset:vit_digits&image=digits:0&pin=cls&attention.view=matrix&attention.layer=2"


@pytest.mark.slow
def test_matrix_and_image_follow_one_pointer(open_page: OpenPage) -> None:
    page = open_page(MATRIX)
    view = page.locator("[data-component=matrix]").first
    expect(view).to_have_attribute("data-query", "0")
    expect(view.locator(".mx-facts")).to_contain_text(
        "A[CLS, "
    )  # patches and words count from 1, as elsewhere
    words = page.locator("[data-component=matrix]").nth(1).locator(".mx-facts")
    expect(words).to_contain_text("query: word 6, 'he'")
    expect(words).to_contain_text("A[6, 4]")
    stage, board = view.locator(".mx-stage"), view.locator(".mx-right > canvas")
    box = stage.bounding_box()
    assert box is not None
    stage.hover(position={"x": box["width"] * 6.5 / 8, "y": box["height"] * 1.5 / 8})
    expect(view).to_have_attribute("data-query", str(1 + 8 + 6))  # the patch under the pointer is the row
    frame = board.bounding_box()
    assert frame is not None
    side, left, top = frame["width"] - 60, 60, 24
    place = {"x": left + side * 10.5 / 65, "y": top + side * 20.5 / 65}
    board.hover(position=place)
    expect(view).to_have_attribute("data-query", "20")
    expect(view).to_have_attribute("data-key", "10")
    expect(view.locator(".mx-stage .vv-seen")).to_be_visible()  # the key's patch is marked on the image
    expect(view.locator(".mx-facts")).to_contain_text("A[20, 10]")
    expect(view.locator(".mx-facts")).to_contain_text("row sum 1.00")
    board.click(position=place)
    page.wait_for_url(re.compile("pin=0.438%2C0.312"))  # token 20: row 3, column 4


def test_keys_walk_the_matrix_and_the_mask_is_in_the_link(open_page: OpenPage) -> None:
    page = open_page(MATRIX)
    page.get_by_role("button", name="Options").click()
    page.get_by_text("Causal mask", exact=True).click()
    page.wait_for_url(re.compile("attention.causal=1"))
    view = page.locator("[data-component=matrix]").first
    board = view.locator(".mx-right > canvas")
    board.focus()
    board.press("ArrowRight")
    board.press("ArrowRight")
    expect(view.locator(".mx-facts")).to_contain_text("masked")
