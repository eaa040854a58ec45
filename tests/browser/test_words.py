"""Check that a dotted term opens on hover, focus and tap, and the glossary's search, strip and images."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, wait_for

pytestmark = pytest.mark.browser


WORD = '[data-testid="stMain"] a[href^="#word-"]'


@pytest.mark.slow
def test_a_word_opens_and_escape_closes_it(open_page: OpenPage) -> None:
    page = open_page("patches?model=preset:vit_digits&image=digits:0")
    page.wait_for_function("() => window[Symbol.for('vitviz.browser')]")  # what explains words comes last
    word, meaning = page.locator(WORD).first, page.locator("#vv-meaning")
    returned = word.get_attribute("title")
    word.hover()
    expect(meaning).to_be_visible()
    assert returned is not None and returned.replace(": ", " ", 1) == meaning.text_content()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    page.mouse.move(700, 5)
    word.hover()
    expect(meaning).to_be_visible()
    word.evaluate("(node) => node.remove()")  # as when another page is drawn: no pointerout follows
    page.mouse.move(700, 5)
    expect(meaning).to_be_hidden()
    caption = page.locator(WORD.replace(" a", " [data-testid=stCaptionContainer] a"))
    page.locator('[data-testid="stMain"] button').last.focus()
    for _ in range(60):  # by the keyboard alone, to a word of a caption
        page.keyboard.press("Shift+Tab")
        if page.evaluate("(words) => [...words].includes(document.activeElement)", caption.element_handles()):
            break
    expect(meaning).to_be_visible()
    page.keyboard.press("Enter")
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    assert "#" not in page.url


@pytest.mark.slow
def test_a_tap_opens_a_word_inside_a_phone_s_screen(open_page: OpenPage) -> None:
    page = open_page("patches?model=preset:vit_digits&image=digits:0", width=390, height=844, has_touch=True)
    page.wait_for_function("() => window[Symbol.for('vitviz.browser')]")
    page.locator(WORD).last.tap()
    meaning = page.locator("#vv-meaning")
    expect(meaning).to_be_visible()
    wait_for(
        page,
        meaning.bounding_box,
        lambda box: 0 <= box["x"] <= 390 - box["width"] and box["y"] + box["height"] <= 844,
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("h1").first.tap()
    expect(meaning).to_be_hidden()


def test_a_term_is_found_and_drawn_and_follows_the_pointer(open_page: OpenPage) -> None:
    page = open_page("words")
    terms, shown_image = (
        page.locator("[data-component=term_list]"),
        page.locator("[data-component=term_picture]"),
    )
    expect(shown_image.locator(".tp-note").nth(1)).to_contain_text("65 × 128")
    page.get_by_label("Search the terms").fill("rollout")
    expect(terms.locator("button:visible")).to_have_text(["rollout", "gradient-weighted rollout"])
    page.get_by_label("Search the terms").fill("parallel attention")  # words of its sentence
    terms.get_by_role("button", name="head", exact=True).click()
    expect(shown_image.locator("figcaption").nth(1)).to_have_text("Its weights in each head")
    expect(page).to_have_url(re.compile(r"words\.word=head"))
    image = shown_image.locator("canvas").first
    box = image.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    expect(shown_image.locator(".tp-name")).to_contain_text("patch 1 (row 1, column 1)")
    image.focus()
    page.keyboard.press("ArrowRight")
    expect(shown_image.locator(".vv-live")).to_contain_text("patch 2 (row 1, column 2)")
    page.go_back()
    expect(shown_image.locator("figcaption").nth(1)).to_have_text("z₀: one row per token")


def test_the_strip_filters_the_list_and_arrows_walk_it(open_page: OpenPage) -> None:
    page = open_page("words?words.word=window")
    terms = page.locator("[data-component=term_list]")
    expect(terms.locator("[aria-current]")).to_have_text("window")
    page.get_by_role("radio", name="positions", exact=True).click()
    expect(terms.locator("button").first).to_have_text("position embedding")
    terms.locator("button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="sinusoidal positions")).to_be_visible()
