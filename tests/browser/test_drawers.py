"""The drawers in a real browser: every formula is set, none is red, and no dollar is left in the text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

pytestmark = pytest.mark.browser

BARE = """() => [...document.querySelectorAll('[data-testid="stExpander"] [data-testid="stMarkdownContainer"]')]
  .map((box) => {
    const copy = box.cloneNode(true);
    copy.querySelectorAll('.katex, code, pre').forEach((part) => part.remove());
    return copy.textContent;
  })
  .filter((text) => text.includes('$'))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "formulas"),
    [
        ("attention_distance?model=preset:vit_digits&attention_distance.count=1", 10),
        ("patches?model=preset:vit_digits&image=digits:0&patches.view=stage", 8),
        ("patches?model=preset:vit_digits&image=digits:0&patches.view=puzzle", 3),
        ("patches?model=preset:vit_digits&image=digits:0&patches.view=ways", 7),
        ("swin?model=preset:swin_digits&image=digits:0", 8),
        ("swin?model=preset:swin_digits&image=digits:0&swin.view=travel", 5),
        ("swin?model=preset:swin_digits&image=digits:0&swin.view=bias", 4),
        ("swin?model=preset:swin_digits&image=digits:0&swin.view=merge", 4),
        ("swin?model=preset:swin_digits&image=digits:0&swin.view=cost", 3),
        ("distillation?model=preset:deit_digits&image=digits:0", 8),
    ],
)
def test_every_formula_of_every_drawer_is_set(
    visit: Callable[..., Page], address: str, formulas: int
) -> None:
    page = visit(address)
    titles = page.locator('[data-testid="stExpander"] summary')
    for index in range(titles.count()):
        settle(page)  # what a drawer holds moves those below it
        titles.nth(index).click()
        expect(page.locator('[data-testid="stExpander"] details[open]')).to_have_count(index + 1)
    expect(page.locator('[data-testid="stExpander"] .katex').nth(formulas - 1)).to_be_attached()
    settle(page)
    assert page.locator(".katex-error").all_inner_texts() == []
    assert page.evaluate(BARE) == []
