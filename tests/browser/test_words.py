"""A dotted word opens on hover, focus and tap, and Escape closes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]


def test_a_word_opens_and_escape_closes_it(visit: Visit) -> None:
    page = visit("patches?model=preset:vit_digits&image=digits:0")
    page.wait_for_function("() => window[Symbol.for('vitviz.browser')]")  # what listens to Escape comes last
    word = page.locator(".vv-term", has_text="tokens").first
    meaning = word.locator(".vv-meaning")
    expect(meaning).to_be_hidden()
    word.hover(position={"x": 8, "y": 8})
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    page.mouse.move(700, 5)
    word.focus()
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    page.locator(".vv-words .vv-term").first.focus()
    page.keyboard.press("Tab")  # the next word at the foot, by the keyboard alone
    expect(page.locator(".vv-term:focus .vv-meaning")).to_be_visible()


def test_a_tap_opens_a_word_inside_a_phone_s_screen(visit: Visit) -> None:
    page = visit("patches?model=preset:vit_digits&image=digits:0", width=390, height=844, has_touch=True)
    word = page.locator(".vv-term").last
    word.tap(position={"x": 6, "y": 6})
    meaning = word.locator(".vv-meaning")
    expect(meaning).to_be_visible()
    box = meaning.bounding_box()
    assert (
        box is not None
        and box["x"] >= 0
        and box["x"] + box["width"] <= 390
        and box["y"] + box["height"] <= 844
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_page_of_words_keeps_its_word_in_the_link(visit: Visit) -> None:
    page = visit("words?words.word=rollout")
    expect(page.get_by_text("Attention multiplied through all layers").first).to_be_visible()
    expect(page.get_by_role("link", name="Abnar and Zuidema 2020").first).to_have_attribute(
        "href", "https://arxiv.org/abs/2005.00928"
    )
