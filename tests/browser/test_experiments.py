"""Test a live race from the gallery: started by a click and shown in the live lab."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
TRAINING_MS = 240_000  # a machine that does much else is slow, not wrong


@pytest.mark.alone
def test_a_race_from_the_gallery_is_shown_in_the_lab(open_page: Callable[..., Page]) -> None:
    page = open_page("studies", height=1400)
    page.get_by_role("link", name="Which value of a hyperparameter").click()
    for label, value in (("Values", "1, 2"), ("Epochs", "1")):
        page.get_by_label(label, exact=True).fill(value)
        page.get_by_label(label, exact=True).press("Enter")
    expect(page.get_by_text("2 models of 73,034 parameters, 1 epoch each")).to_be_visible()
    page.get_by_role("button", name="Train all values").click()
    page.get_by_role("link", name="Show these models in the live lab").click()
    expect(page.locator("h1")).to_have_text("Live lab", timeout=TRAINING_MS)
    expect(page.get_by_role("radio", name="2", exact=True)).to_be_visible(timeout=TRAINING_MS)
    measured = page.locator("[data-component=race] .ch-canvas").last
    reported = re.compile(r"1: [\d.]+\s%, shuffled .*2: [\d.]+\s%, shuffled")
    expect(measured).to_have_attribute("aria-label", reported, timeout=TRAINING_MS)
