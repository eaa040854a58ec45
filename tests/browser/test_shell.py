"""The shell in a real browser: deep links, the sidebar, both themes."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import paper, settle
from tests.rows import rows

pytestmark = pytest.mark.browser


def link(page: Page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()}


def test_a_deep_link_shows_what_it_says(open_page):
    page = open_page("attention_distance?model=preset:vit_tiny_16&image=sample:coffee&pin=0.100,0.900&crop=0")
    expect(page).to_have_title("Attention distance · vitviz")
    expect(page.get_by_text("A cup of coffee").first).to_be_visible()
    returned = {
        "model": "preset:vit_tiny_16",
        "step": "0",
        "image": "sample:coffee",
        "pin": "0.100,0.900",
        "crop": "0",
    }
    assert {key: value for key, value in link(page).items() if "." not in key} == returned


def test_the_first_stop_of_the_keyboard_leads_past_the_menu(open_page):
    page = open_page("patches?model=preset:vit_digits&image=digits:3")
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


@pytest.mark.parametrize("scheme", rows(["light", "dark"], "dark".__eq__))
def test_both_themes_are_the_projects(open_page, scheme):
    from vitviz.plots.theme import PALETTES

    page = open_page(color_scheme=scheme)
    assert paper(page) == PALETTES[scheme].paper


def test_a_collapsed_sidebar_leaves_a_strip(open_page):
    page = open_page("attention?model=checkpoint:digits_vit&image=digits:3")
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


def test_a_page_that_becomes_blank_is_loaded_again(open_page):
    """As when React ends with an error: nothing of Streamlit was left until the reader pressed F5."""
    page = open_page("lessons")
    page.evaluate("() => document.getElementById('root').replaceChildren()")
    expect(page.locator("h1")).to_have_text("Lessons")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("distillation", "CIFAR-10 · DeiT, soft distillation, 84.1 %"),
        ("two_images?image=sample:cat", "Photos · DINOv2-S/14, fine-tuned for saliency, int8"),
    ],
    ids=["DeiT", "photo model"],
)
def test_the_names_in_the_model_picker_stand_whole(open_page, address: str, name: str, width: int) -> None:
    page = open_page(address, width=width)
    if width < 640:
        page.get_by_test_id("stExpandSidebarButton").click()
    shown = page.locator(".vv-model-name")
    expect(shown).to_have_text(name.replace(" %", "\N{NO-BREAK SPACE}%"))
    is_whole = "(node) => node.scrollWidth <= node.clientWidth && node.scrollHeight <= node.clientHeight"
    page.wait_for_function(is_whole, arg=shown.element_handle())  # once the sidebar has slid in
    settle(page)  # a rerun closes the list
    picker = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Model", exact=True)
    picker.focus()
    picker.press("ArrowDown")
    expect(shown).to_be_hidden()
    options = page.get_by_role("option")
    expect(options.filter(has_text=name).first).to_be_visible()
    cut = options.evaluate_all(
        f"(all) => all.map((one) => one.firstElementChild).filter((one) => !({is_whole})(one))"
        ".map((one) => `${one.textContent} ${one.scrollWidth} ${one.clientWidth}`)"
    )
    assert cut == []
