"""The shell in a real browser: deep links, the start page's picture, uploads, both themes."""

from __future__ import annotations

import io
import re
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import MOVING, paper, settle
from tests.rows import rows

pytestmark = pytest.mark.browser


def link(page: Page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()}


def photo() -> bytes:
    """A real photo's worth of detail, as a phone's JPEG: wide, with noise and a gradient."""
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 200, 320)[None, :, None] + rng.normal(0, 20, (200, 320, 3))
    buffer = io.BytesIO()
    Image.fromarray(ramp.clip(0, 255).astype(np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def test_a_deep_link_shows_what_it_says(visit):
    page = visit("attention_distance?model=preset:vit_tiny_16&image=sample:coffee&pin=0.100,0.900&crop=0")
    expect(page).to_have_title("Attention distance · vitviz")
    expect(page.get_by_text("A cup of coffee").first).to_be_visible()
    said = {
        "model": "preset:vit_tiny_16",
        "step": "0",
        "image": "sample:coffee",
        "pin": "0.100,0.900",
        "crop": "0",
    }
    assert {key: value for key, value in link(page).items() if "." not in key} == said


def test_the_link_is_full_and_survives_a_reload(visit):
    page = visit()
    page.wait_for_function("() => location.search.includes('image')")
    first = link(page)
    assert set(first) == {"model", "step", "image", "crop"}
    page.reload()
    settle(page)
    assert link(page) == first


def test_the_first_stop_of_the_keyboard_leads_past_the_menu(visit):
    page = visit("patches?model=preset:vit_digits&image=digits:3")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the page")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    before = page.url
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    block = page.get_by_test_id("stMainBlockContainer")
    assert block.evaluate("node => node.contains(document.activeElement) && node !== document.activeElement")
    expect(skip).not_to_be_in_viewport()
    assert page.url == before


def test_pointing_at_a_patch_names_it_and_a_click_pins_it(visit):
    page = visit("?model=preset:vit_digits&image=digits:3")
    tile = page.locator("[data-part=patches] canvas")
    box = tile.bounding_box()
    at = {"x": box["width"] / 16, "y": box["height"] * 3 / 16}
    tile.hover(position=at)
    expect(page.locator('[data-component="map"] .vv-tip')).to_contain_text("Patch 9 (row 2, column 1)")
    tile.click(position=at)
    page.wait_for_function("() => location.search.includes('0.062') || location.search.includes('0.063')")
    assert link(page)["pin"] in ("0.062,0.188", "0.063,0.188")


def test_a_photo_is_uploaded_and_removed(visit):
    page = visit("?model=preset:vit_tiny_16")
    page.get_by_text("Upload", exact=True).click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": photo()}
    )
    expect(page.get_by_text("Your image", exact=True).first).to_be_visible()
    page.wait_for_function("() => location.search.includes('upload')")
    assert re.fullmatch(r"upload:[\w-]{22}", link(page)["image"])
    page.get_by_role("button", name="Delete my image").click()
    page.wait_for_function("() => location.search.includes('sample')")
    assert link(page)["image"] == "sample:cat"


def test_a_file_that_is_no_picture_changes_nothing(visit):
    page = visit("?model=preset:vit_digits&image=digits:3")
    page.get_by_text("Upload", exact=True).click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "photo.png", "mimeType": "image/png", "buffer": b"not a picture"}
    )
    expect(page.locator('[data-testid="stSidebar"] [data-testid="stAlert"]')).to_be_visible()
    assert link(page)["image"] == "digits:3"


@pytest.mark.parametrize("scheme", rows(["light", "dark"], "dark".__eq__))
def test_both_themes_are_the_projects(visit, scheme):
    from vitviz.plots.theme import PALETTES

    page = visit(color_scheme=scheme)
    assert paper(page) == PALETTES[scheme].paper


def test_a_collapsed_sidebar_leaves_a_strip(visit):
    page = visit("attention?model=checkpoint:digits_vit&image=digits:3")
    sidebar = page.locator('[data-testid="stSidebar"]')
    sidebar.hover()
    page.locator('[data-testid="stSidebarCollapseButton"] button').click()
    page.wait_for_function(
        "() => document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().width === 56"
    )
    expect(sidebar.locator(".st-key-nouns-picture img")).to_be_visible()
    expect(sidebar.locator(".vv-strip")).to_contain_text("step 2,429")
    expect(sidebar.locator(".st-key-model")).to_be_hidden()
    page.locator('[data-testid="stExpandSidebarButton"]').click()
    expect(sidebar.locator(".st-key-model")).to_be_visible()
    expect(sidebar.locator(".vv-strip")).to_be_hidden()


def test_narrow_screens_do_not_scroll_sideways(visit):
    page = visit(width=420)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")


SECOND_STATION = """(map) => {
  const slider = map.querySelector('[aria-label="Step of the animation"]');
  for (const _ of [1, 2]) slider.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  return Number(slider.value);
}"""  # where the journey stands right after two clicks


@pytest.mark.parametrize("calm", [True, False])
def test_reduced_motion_shows_every_station_at_once(visit, calm):
    page = visit(**({"reduced_motion": "reduce"} if calm else MOVING))
    view = page.locator('[data-component="map"]')
    expect(view).to_have_attribute("data-ready", "true")
    expect(view.locator(".mp-play")).to_be_visible(visible=not calm)
    assert (view.evaluate(SECOND_STATION) == 2) is calm


def test_a_page_that_becomes_blank_is_loaded_again(visit):
    """As when React ends with an error: nothing of Streamlit was left until the reader pressed F5."""
    page = visit("lessons")
    page.evaluate("() => document.getElementById('root').replaceChildren()")
    expect(page.locator("h1")).to_have_text("Lessons")
