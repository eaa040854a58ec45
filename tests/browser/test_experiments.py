"""Test a hyperparameter trained live: its models in turn, a dot per seed, and the link to the lab."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
TRAINING_MS = 240_000  # a machine that does much else is slow, not wrong
TINY = "experiments?experiments.knob=norm&experiments.knob_epochs=1"


@pytest.mark.alone
def test_a_knob_is_turned_live_and_its_run_opens_in_the_lab(visit: Callable[..., Page]) -> None:
    page = visit(TINY, height=1400)
    page.get_by_role("button", name="Train all values").click()
    race = page.locator("[data-component=race]").last  # above it the stored race waits for a prediction
    told = re.compile(
        r"parameters: pre-norm [\d.]+\s% · [\d.]+\ss · 73,034 parameters;"
        r" post-norm [\d.]+\s% · [\d.]+\ss · 73,034 parameters$"
    )
    expect(race.get_by_role("img")).to_have_attribute("aria-label", told, timeout=TRAINING_MS)
    expect(page.get_by_text(re.compile(r"\bof 2\b.* with [\d.]+\s%"))).to_be_visible(timeout=TRAINING_MS)
    curves = race.locator(".ra-curves")
    curves.focus()
    page.keyboard.press("End")
    expect(race.locator(".vv-live")).to_contain_text(re.compile(r"pre-norm [\d.]+\s%"))
    page.get_by_role("link", name="Open its models in the live lab").click()
    expect(page.locator("h1")).to_have_text("Live lab", timeout=TRAINING_MS)
    expect(page.get_by_role("radio", name="post-norm")).to_be_visible(timeout=TRAINING_MS)
