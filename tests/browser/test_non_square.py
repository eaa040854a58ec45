"""Views of 8 rows and 12 columns under a pointer: a whole photo of 451 x 300 px with patches of 4 px."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser
ROWS, COLS = 8, 12
WHOLE = "model=preset:vit_shapes&image=sample:cat&whole=1"


def hover_cell(node: Locator, row: int, col: int) -> None:
    """Point at the centre of a patch, counted from 0, and check the proportions of what shows it."""
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(COLS / ROWS, rel=0.03)
    node.hover(position={"x": box["width"] * (col + 0.5) / COLS, "y": box["height"] * (row + 0.5) / ROWS})


def test_attention_follows_rows_and_columns(open_page: OpenPage) -> None:
    view = open_page(f"attention?{WHOLE}").locator("[data-component=explorer]").first
    expect(view).to_have_attribute("data-ready", "true")
    hover_cell(view.locator(".ax-stage"), 1, 10)
    expect(view).to_have_attribute("data-query", str(1 + COLS + 10))
    expect(view.locator(".ax-name")).to_contain_text("row 2, column 11")
    cells = view.locator(".ax-stage canvas.ax-cells")
    assert cells.evaluate("node => [node.height, node.width]") == [ROWS, COLS]


def test_the_product_of_a_patch_is_the_models(open_page: OpenPage) -> None:
    view = open_page(f"patches?{WHOLE}").locator("[data-component=patches_stage]")
    expect(view).to_have_attribute("data-ready", "true")
    hover_cell(view.locator("canvas").first, 6, 9)
    expect(view.locator("[data-role=title]")).to_have_text("Patch 82 of 96 · row 7, column 10")
    found = re.search(r"= (\S+)\s+model: (\S+)$", view.locator("[data-role=sum]").inner_text())
    assert found is not None
    assert float(found[1].replace("−", "-")) == pytest.approx(float(found[2].replace("−", "-")), abs=2e-4)


def test_starts_map_has_the_images_proportions(open_page: OpenPage) -> None:
    page = open_page(f"?{WHOLE}")
    expect(page.locator('.vv[data-component="map"][data-photo]')).to_be_visible()
    hover_cell(page.locator("[data-part=picture] canvas"), 6, 9)
    expect(page.locator(".vv-tip")).to_contain_text("row 7, column 10")


def test_the_sidebars_choice_is_kept_from_page_to_page(open_page: OpenPage) -> None:
    page = open_page("attention?model=preset:vit_shapes&image=sample:cat")
    toggle = page.locator('[data-testid="stSidebar"]').get_by_text("Whole image")
    toggle.click()
    expect(page).to_have_url(re.compile("whole=1"))
    explorer = page.locator("[data-component=explorer]").first
    expect(explorer).to_have_attribute("data-photo", "48x32")  # what the model saw of 451 x 300 px
