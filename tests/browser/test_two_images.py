"""Two images in a browser: hover and keys read a match, a click pins it, lines join mutual neighbours, a pad draws."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, settle

pytestmark = pytest.mark.browser
ADDRESS = (
    "two_images?model=preset:vit_digits&image=digits:3&two_images.number=7&pin=0.500,0.500&two_images.lines=3"
    "&two_images.layer=1"
)

FOREGROUND = (
    "two_images?model=preset:vit_cifar10&image=sample:cat&two_images.second=sample:coffee"
    "&two_images.foreground=component&two_images.layer=3"  # the pair's second patch is nearer to the background
)


@pytest.mark.slow
def test_hover_reads_a_match_a_click_pins_it_and_lines_join_the_strongest(open_page: OpenPage) -> None:
    page = open_page(ADDRESS)
    view = page.locator("[data-component=match]")
    expect(view).to_have_attribute("data-query", f"0:{4 * 8 + 4}")  # the pinned patch
    expect(view).to_have_attribute("data-lines", "3")
    assert view.locator(".mt-lines circle").count() == 6
    first, second = (view.locator(".vv-frame").nth(side) for side in (0, 1))
    box = first.bounding_box()
    assert box is not None
    first.hover(position={"x": box["width"] * 6.5 / 8, "y": box["height"] * 1.5 / 8})
    expect(view).to_have_attribute("data-query", f"0:{8 + 6}")
    best = int(view.get_attribute("data-best") or -1)
    facts = view.locator(".mt-facts")
    expect(facts).to_contain_text("First image, row 2, column 7")
    expect(facts).to_contain_text(f"→ row {best // 8 + 1}, column {best % 8 + 1}: cosine")
    expect(second.locator(".vv-seen")).to_be_visible()
    assert view.locator(".mt-query").count() == 2  # its line, on a white one
    first.click(position={"x": box["width"] * 6.5 / 8, "y": box["height"] * 1.5 / 8})
    expect(page).to_have_url(re.compile(r"pin=0\.812(%2C|,)0\.188"))
    # The pointer reads the second image, too, and the keyboard reads as the pointer does.
    second.hover(position={"x": box["width"] * 0.5 / 8, "y": box["height"] * 0.5 / 8})
    expect(view).to_have_attribute("data-query", "1:0")
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(view).to_have_attribute("data-query", f"0:{16 + 6}")
    expect(view.locator(".vv-live")).to_contain_text("row 3, column 7")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"pin=0\.812(%2C|,)0\.312"))
    expect(view).to_have_attribute("data-layer", "1")
    settle(page)
    guest = open_page("two_images" + page.url.partition("/two_images")[2], width=390)
    same = guest.locator("[data-component=match]")
    expect(same).to_have_attribute("data-query", f"0:{16 + 6}")
    expect(same).to_have_attribute("data-layer", "1")
    assert guest.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 1


def test_a_pair_of_the_foreground_is_read_as_mutual(open_page: OpenPage) -> None:
    page = open_page(FOREGROUND)
    view = page.locator("[data-component=match]")
    expect(view.locator(".mt-facts")).to_contain_text(re.compile(r"cosine \S+, each other’s nearest"))


def test_the_map_of_heads_is_read_head_by_head(open_page: OpenPage) -> None:
    page = open_page(f"{ADDRESS}&two_images.view=patching")
    view = page.locator("[data-component=heat_grid]")
    expect(view).to_have_attribute("data-panels", "3")
    heads = view.locator(".vv-frame").nth(2)
    box = heads.bounding_box()
    assert box is not None
    heads.hover(position={"x": box["width"] * 0.9, "y": box["height"] * 0.4})
    expect(view).to_have_attribute("data-cell", "2:7")
    expect(view.locator(".hg-note").nth(2)).to_have_text(re.compile(r"layer 2, head 4: change \S+ points"))


def test_a_stroke_on_the_pad_is_the_second_image(open_page: OpenPage) -> None:
    page = open_page(ADDRESS)
    expect(page.locator("[data-component=match]")).to_have_attribute("data-ready", "true")
    page.get_by_role("button", name="Your second image").click()
    pad = page.locator("[data-component=second_image_pad] canvas")
    expect(pad).to_be_visible()
    box = pad.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 170, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("two_images.second=drawing"))
    expect(page.locator("[data-component=match] .hg-title").nth(1)).to_have_text("A drawing")
