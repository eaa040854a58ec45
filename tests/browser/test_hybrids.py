"""Hybrids in the browser: the steps of the stem, and a prediction whose answer a link restores."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import settle
from vitviz.experiments.result_file import read_result
from vitviz.models.layers import ConvStem
from vitviz.text import percent

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PATIENCE_MS = 60_000


@pytest.mark.slow
def test_channels_are_enlarged_and_a_prediction_is_measured(open_page: Callable[..., Page]) -> None:
    page = open_page("hybrids?model=checkpoint:cifar10_hybrid&image=cifar10-few:65&hybrids.reads=9")
    main = page.locator('[data-testid="stMain"]')
    view = main.locator(".vv[data-component=pipeline_view]")
    expect(view.get_by_text("9 × 9 px feed a token")).to_be_visible(timeout=PATIENCE_MS)
    tiles = view.locator(".hp-stage", has_text="Convolution 2").first.locator(".hp-tile")
    expect(tiles).to_have_count(12)
    tiles.first.hover()
    expect(view.get_by_text("5 × 5 px feed a position after convolution 2")).to_be_visible()
    view.get_by_role("button", name="All 64").click()
    expect(tiles).to_have_count(64)
    tiles.nth(3).click()
    expect(tiles).to_have_count(1)
    expect(view.get_by_text(re.compile(r"Channel \d+: up to"))).to_be_visible()
    frame = view.locator(".hp-frame").first
    frame.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"pin=0\.062"), timeout=PATIENCE_MS)
    settle(page)

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


@pytest.mark.parametrize("cell", [(0, 0), (2, 3), (7, 5)])
def test_what_feeds_a_token_is_what_has_a_gradient(
    browser: Browser, site: str, cell: tuple[int, int]
) -> None:
    torch.manual_seed(0)
    stem = ConvStem(3, (4, 4, 4), 8, 4).eval()
    for layer in stem.stem:
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.uniform_(layer.weight, 0.1, 1.0)  # no ReLU is shut, no path cancels
    x = torch.rand(1, 3, 32, 32, requires_grad=True)
    stem.stem(stem.enlarged(x))[0, :, cell[0], cell[1]].sum().backward()
    assert x.grad is not None
    rows, cols = torch.nonzero(x.grad.abs().sum(dim=(0, 1)), as_tuple=True)
    page = browser.new_page()
    page.route(f"{site}/", lambda route: route.fulfill(body="<p>", content_type="text/html"))
    page.goto(f"{site}/")
    boxes = page.evaluate(
        """async (args) =>
          (await import('/pages/lenses/hybrids/pipeline_view.js')).feed(...args)""",
        [3, *cell, [1, 2, 2]],
    )
    page.close()
    clipped = [min(32, max(0, edge)) for edge in boxes[0]]
    assert clipped == [rows.min(), cols.min(), rows.max() + 1, cols.max() + 1]
    assert boxes[2] == [2 * cell[0] - 1, 2 * cell[1] - 1, 2 * cell[0] + 2, 2 * cell[1] + 2]
