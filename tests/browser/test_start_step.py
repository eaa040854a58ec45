"""The map on Start follows the sidebar's step while it is dragged, and shows what the server then draws."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import hold_slider, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
Visit = Callable[..., Page]
WORDS = """(root) => [
  root.querySelector('.mp-summary').textContent.match(/Prediction: (.+)/)[1],
  ...[...root.querySelectorAll('.mp-block [data-most]')].map((node) => node.dataset.most),
]"""


@pytest.mark.parametrize(
    "address", ["?model=checkpoint:digits_vit&image=digits:3", "?model=checkpoint:mnist_vit"]
)
def test_the_map_follows_the_step(visit: Visit, address: str) -> None:
    page = visit(address)
    root = page.locator('.vv[data-component="map"][data-photo]').first
    root.wait_for()
    trained = root.evaluate(WORDS)
    hold_slider(page, "step", 0)
    expect(root).to_have_attribute("data-step", "0")
    live = root.evaluate(WORDS)
    assert live != trained
    expect(page.locator('[data-testid="stMain"]')).to_have_attribute("data-behind", "")
    page.mouse.up()
    page.wait_for_url(re.compile(r"step=0(&|$)"))
    expect(root).not_to_have_attribute("data-step", "0")
    expect(page.locator('[data-testid="stMain"]')).not_to_have_attribute("data-behind", "")
    settle(page)
    assert root.evaluate(WORDS) == live
