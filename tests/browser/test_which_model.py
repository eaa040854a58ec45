"""Which model when? in the browser: what stands on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PATIENCE_MS = 60_000


@pytest.mark.slow
def test_all_options_of_a_row_stand_on_a_phone_s_screen(open_page: Callable[..., Page]) -> None:
    """Streamlit keeps the options of one control in a row in one line: an option was cut off at 390 px."""
    page = open_page("which_model", width=390)
    options = page.locator('[data-testid="stMain"]').get_by_role("radio")
    expect(options.filter(has_text="CNN or ViT?")).to_be_visible(timeout=PATIENCE_MS)
    wait_for(
        page,
        lambda: options.evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)"),
        lambda edges: len(edges) == 3 and max(edges) <= 390 - 8,
    )


@pytest.mark.slow
def test_at_150_percent_the_board_has_the_page_s_width(open_page: Callable[..., Page]) -> None:
    """Beside its inspector it was 294 px wide there, and the longest names began left of the figure."""
    page = open_page("which_model?which_model.set=imagenet", width=933, height=600, device_scale_factor=1.5)
    figure = page.locator('[data-testid="stMain"] .ch-canvas').first
    expect(figure).to_be_visible()
    title = page.locator('[data-testid="stMain"] h1')
    wait_for(
        page,
        lambda: [node.bounding_box() for node in (figure, title)],
        lambda boxes: boxes[0]["width"] > 0.9 * boxes[1]["width"],
    )
