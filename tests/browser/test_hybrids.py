"""Hybrids in the browser: the steps of the stem, and a prediction whose answer a link restores."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from vitviz.experiments.result_file import read_result
from vitviz.text import percent

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PATIENCE_MS = 60_000


def test_a_step_is_chosen_and_a_prediction_is_measured(visit: Callable[..., Page]) -> None:
    page = visit("hybrids?model=checkpoint:cifar10_hybrid&image=cifar10-few:65&hybrids.reads=9")
    main = page.locator('[data-testid="stMain"]')
    main.get_by_role("radio", name="Tokens", exact=True).click()
    expect(main.get_by_text(re.compile(r"positions to a token: 64 tokens"))).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.wait_for_url("**hybrids.step=tokens**", timeout=PATIENCE_MS)

    main.get_by_role("link", name="Attention over convolutions").click()
    main.locator('[data-testid="stButtonGroup"] button', has_text="No attention").click()
    page.wait_for_url("**hybrids.question=1**", timeout=PATIENCE_MS)
    tests = [row["test"] for row in read_result("conv_attention").where(model="written")]
    # The caption's first sentence is shown, the others are folded below.
    words = re.escape(percent(sum(tests) / len(tests)))
    expect(main.get_by_text(re.compile(words)).first).to_be_attached(timeout=PATIENCE_MS)
    page.reload()
    settle(page)
    expect(main.get_by_text(re.compile(words)).first).to_be_attached(timeout=PATIENCE_MS)
