"""Translate pages as a browser does, into <font> nodes, and compare their texts with those of an untranslated tab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, lead, settle, wait_for
from tests.browser.test_class_walk import open_class

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.timeout(900)]
PAGES = (
    "patches",
    "filters",
    "positions",
    "block",
    "attention",
    "attention_distance",
    "layers",
    "swin",
    "distillation",
    "hybrids",
)
IMAGES = ("digits:3", "digits:8")  # of the same model: captions change, not the page

# Every text with a letter becomes <font><font>⟦text⟧</font></font>, also the text that comes later.
TRANSLATE = """() => {
  const KEPT = '[translate=no], script, style, noscript, textarea, font, [data-testid=stIconMaterial]';
  const replace = (text) => {
    if (!text.isConnected || !/\\p{L}/u.test(text.data) || text.parentElement.closest(KEPT)) return;
    const [outer, inner] = ['font', 'font'].map((tag) => document.createElement(tag));
    inner.textContent = `⟦${text.data}⟧`;
    outer.append(inner);
    text.parentNode.replaceChild(outer, text);
  };
  const translate = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    texts.forEach(replace);
  };
  let waiting = 0;
  const later = () => { waiting ||= setTimeout(() => { waiting = 0; translate(); }, 20); };
  new MutationObserver(later).observe(document.body, { childList: true, subtree: true, characterData: true });
  translate();
}"""

READ = """() => [...document.querySelectorAll('[data-testid="stMain"] :is(h1, [data-testid="stMarkdownContainer"])')]
  .filter((node) => node.checkVisibility() && !node.closest('[data-testid="stTooltipContent"]'))
  .map((node) => node.textContent.replace(/[⟦⟧]/g, '').replace(/\\s+/g, ' ').trim())"""
MARKED = """() => {
  const views = [...document.querySelectorAll('*')].flatMap((node) => node.shadowRoot ?? []);
  const parts = views.flatMap((view) => [...view.querySelectorAll('code, canvas, [role="rowheader"]')]);
  parts.push(...document.querySelectorAll('code, pre, .katex, canvas'));
  return parts.filter((node) => !node.closest('[translate="no"]')).length;
}"""


def expect_true_texts(page: Page, reference: Page) -> None:
    """Expect the texts that an untranslated tab of this session shows at the same address."""
    wait_for(
        page,
        lambda: (page.evaluate(READ), reference.evaluate(READ)),
        lambda texts: texts[0] == texts[1] and len(texts[0]) > 2,
    )
    page.wait_for_function(f"() => ({MARKED})() === 0")
    assert page.locator("font font").count() > 5
    expect(page.get_by_text("removeChild")).to_have_count(0)


def test_captions_and_headings_of_ten_translated_pages_stay_true(open_page: OpenPage) -> None:
    page = open_page()
    page.evaluate(TRANSLATE)
    reference = page.context.new_page()
    reference.goto(page.url)
    settle(reference)
    moved = 0
    for slug in PAGES:
        for image in IMAGES:
            for tab in (page, reference):
                lead(tab, f"{slug}?model=checkpoint:digits_vit&image={image}")
            expect_true_texts(page, reference)
        slider = page.locator('[data-testid="stMain"] [data-testid="stSlider"] input[type=range]')
        if slider.count() and moved < 3:
            address = page.url
            is_last = slider.first.evaluate("node => node.value === node.max")
            slider.first.press("ArrowLeft" if is_last else "ArrowRight")
            page.wait_for_url(lambda url, address=address: url != address)  # type: ignore[misc]
            settle(page)
            reference.goto(page.url)
            settle(reference)
            expect_true_texts(page, reference)
            moved += 1
    assert moved == 3


def test_a_translated_lab_trains(open_page: OpenPage) -> None:
    page = open_page("live_lab?live_lab.length=2&live_lab.snapshots=3")
    page.evaluate(TRANSLATE)
    page.locator('[data-testid="stBaseButton-primary"]').first.click()
    page.wait_for_url(re.compile(r"live_lab\.run="))
    expect(page.locator(".stMarkdownBadge").filter(has_text="done")).to_be_visible(timeout=300_000)
    settle(page)
    reference = page.context.new_page()
    reference.goto(page.url)
    settle(reference)
    expect_true_texts(page, reference)


def test_a_translated_learner_follows_a_class(open_page: OpenPage) -> None:
    teacher, code = open_class(open_page)
    learner = open_page(f"?class={code}")
    learner.evaluate(TRANSLATE)
    for slug in ("attention", "patches", "block"):
        lead(teacher, f"{slug}?model=checkpoint:digits_vit&image=digits:3")
        learner.wait_for_url(re.compile(rf"/{slug}\?"))
        settle(learner)
        heading = teacher.locator('[data-testid="stMain"] h1').inner_text()
        expect(learner.locator('[data-testid="stMain"] h1')).to_have_text(f"⟦{heading}⟧")
        expect(learner.get_by_text("removeChild")).to_have_count(0)
