"""The drawers in a real browser: every formula is set, none is red, and no dollar is left in the text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import lead, open_drawers

pytestmark = pytest.mark.browser

BARE = """() => [...document.querySelectorAll('[data-testid="stExpander"] [data-testid="stMarkdownContainer"]')]
  .map((box) => {
    const copy = box.cloneNode(true);
    copy.querySelectorAll('.katex, code, pre').forEach((part) => part.remove());
    return copy.textContent;
  })
  .filter((text) => text.includes('$'))"""


LEAST = {  # formulas in the drawers of each view
    "attention_distance?model=preset:vit_digits&attention_distance.count=1": 10,
    "patches?model=preset:vit_digits&image=digits:0&patches.view=stage": 8,
    "patches?model=preset:vit_digits&image=digits:0&patches.view=puzzle": 3,
    "patches?model=preset:vit_digits&image=digits:0&patches.view=ways": 7,
    "swin?model=preset:swin_digits&image=digits:0": 8,
    "swin?model=preset:swin_digits&image=digits:0&swin.view=travel": 5,
    "swin?model=preset:swin_digits&image=digits:0&swin.view=bias": 4,
    "swin?model=preset:swin_digits&image=digits:0&swin.view=merge": 4,
    "swin?model=preset:swin_digits&image=digits:0&swin.view=cost": 3,
    "distillation?model=preset:deit_digits&image=digits:0": 8,
}


@pytest.mark.slow
def test_every_formula_of_every_drawer_is_set(visit: Callable[..., Page]) -> None:
    page = visit("words")
    for address, formulas in LEAST.items():
        lead(page, address)
        open_drawers(page)
        expect(page.locator('[data-testid="stExpander"] .katex').nth(formulas - 1)).to_be_attached()
        assert page.locator(".katex-error").all_inner_texts() == [], address
        assert page.evaluate(BARE) == [], address
