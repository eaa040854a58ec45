"""An ablation survives a reload and a change of view, and is part of the link."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
Visit = Callable[..., Page]
ADDRESS = "attention?model=preset:vit_digits&image=digits:0&attention.view=ablate"


def left_out(page: Page, patches: int, heads: int) -> None:
    """Expect these counts in the view and in the caption."""
    view = page.locator("[data-component=ablation_view]")
    expect(view).to_have_attribute("data-patches", str(patches))
    expect(view).to_have_attribute("data-heads", str(heads))
    main = page.locator('[data-testid="stMain"]')
    expect(main).to_contain_text(f"Without {patches} of 64 patches and {heads} of 16 heads")


def paint(page: Page) -> None:
    view = page.locator("[data-component=ablation_view]")
    stage = view.locator(".aa-stage")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 10, steps=24)
    page.mouse.up()
    view.get_by_role("button", name="layer 2", exact=True).click()
    left_out(page, 8, 4)


def test_what_is_left_out_survives_a_reload_a_change_of_view_and_a_link(visit: Visit) -> None:
    page = visit(ADDRESS)
    view = page.locator("[data-component=ablation_view]")
    expect(view).to_contain_text("Drag over the image to ablate patches")
    paint(page)
    expect(view).to_contain_text("8 of 64 patches, 4 of 16 heads")
    page.wait_for_url(re.compile(r"left_out=64\._D\.16\.wD(&|$)"))
    assert len(page.url) < 2000
    page.reload()
    settle(page)
    left_out(page, 8, 4)
    view.get_by_role("button", name="layer 1", exact=True).click()  # goes on from there
    left_out(page, 8, 8)
    view.get_by_role("button", name="Undo").click()
    left_out(page, 8, 4)
    page.get_by_role("radio", name="Attention maps", exact=True).click()
    expect(page.locator("[data-component=explorer]")).to_have_attribute("data-ready", "true")
    page.get_by_role("radio", name="Ablation").click()
    left_out(page, 8, 4)
    address = page.url.partition("/attention?")[2]
    somebody = visit(f"attention?{address}", locale="en-GB")
    left_out(somebody, 8, 4)
