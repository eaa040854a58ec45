"""The map on Start and its opened part follow the sidebar's step while it is dragged, and a zeroed head."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, hold_slider, settle
from tests.rows import rows

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
WORDS = """(root) => [
  root.querySelector('.mp-summary').textContent.match(/Prediction: (.+)/)[1],
  ...[...root.querySelectorAll('.mp-block [data-most]')].map((node) => node.dataset.most),
]"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    rows(
        ["?model=checkpoint:digits_vit&image=digits:3", "?model=checkpoint:mnist_vit"], lambda at: "3" in at
    ),
)
def test_the_map_follows_the_step(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
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


def test_an_opened_layer_follows_the_step_and_a_zeroed_head(open_page: OpenPage) -> None:
    page = open_page("?model=checkpoint:digits_vit&image=digits:3&home.part=block.2")
    root, panel = page.locator('.vv[data-component="map"][data-photo]').first, page.locator(".mp-steps")
    expect(panel).to_contain_text("Residual addition", timeout=60_000)
    trained = panel.inner_text()
    page.locator(".mp-heads button").nth(3).click()
    expect(panel).to_contain_text("Softmax row of head 4")
    whole = panel.inner_text()
    zero = page.get_by_role("button", name="Zero out head 4")
    zero.click()
    expect(root).to_have_attribute("data-masks", re.compile(r"^0{16}\.0100$"))
    expect(panel).not_to_contain_text(lengths(whole))
    page.get_by_role("button", name="Restore all").click()
    expect(panel).to_contain_text(lengths(whole))
    hold_slider(page, "step", 0, steps=1)  # no step between, whose numbers come later than the map's
    expect(root).to_have_attribute("data-step", "0")
    expect(panel).not_to_contain_text(lengths(whole))
    expect(panel).not_to_contain_text(lengths(trained))
    live = panel.inner_text()
    page.mouse.up()
    page.wait_for_url(re.compile(r"step=0(&|$)"))
    expect(root).not_to_have_attribute("data-step", "0")
    settle(page)
    assert lengths(panel.inner_text()) == lengths(live)


def lengths(text: str) -> str:
    """The numbers of the first residual addition."""
    found = re.search(r"lengths .*", text)
    assert found
    return found[0]
