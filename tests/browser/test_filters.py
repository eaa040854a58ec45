"""Tiles and reconstruction under a real pointer and the keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenPage, open_view, paper
from vitviz.plots.theme import PALETTES

pytestmark = pytest.mark.browser


def errors(stage: Locator) -> list[float]:
    """Return the error under each reconstruction, in grey levels."""
    return [float(found) for found in re.findall(r"error ([\d.]+) levels", stage.text_content() or "")]


def test_a_tile_is_enlarged_by_pointer_and_keyboard(open_page: OpenPage) -> None:
    page = open_page("filters?model=preset:vit_cifar10&image=sample:cat")
    stage = open_view(page, "tiles_view")
    sheet = stage.locator("canvas.ti-map").first
    box = sheet.bounding_box()
    assert box is not None
    sheet.hover(position={"x": box["width"] * 2.5 / 7, "y": box["height"] * 1.5 / 4})
    expect(stage).to_contain_text("Component 10 of 28")
    expect(stage).to_contain_text(re.compile(r"[\d.]+\s% of all differences \(the variance\); the first 10"))
    sheet.focus()
    sheet.press("ArrowRight")
    expect(stage).to_contain_text("Component 11 of 28")
    expect(stage.locator(".vv-live")).to_contain_text("Component 11")
    expect(sheet).to_have_attribute("aria-label", re.compile(r": 28 tiles\. .*Arrow keys move"))
    channels = stage.get_by_role(
        "img", name=re.compile(r"Values of the (red|green|blue) channel, from −0\.\d+ to 0\.\d+")
    )
    expect(channels).to_have_count(3)


def test_k_moves_in_the_browser_and_more_components_err_less(open_page: OpenPage) -> None:
    page = open_page("filters?model=preset:vit_cifar10&image=sample:cat&filters.view=express")
    stage = open_view(page, "rebuild_view")
    slider = stage.get_by_role("slider")
    before = errors(stage)
    assert before[1] <= before[0] and before[1] <= before[2]
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    expect(stage).to_contain_text("k = 12 of 48 components")
    after = errors(stage)
    assert all(now < then for now, then in zip(after, before, strict=True))
    slider.press("End")
    expect(stage).to_contain_text("k = 48 of 48 components")
    assert errors(stage) == [0.0, 0.0, 0.0]
    slider.press("Home")
    assert len(set(errors(stage))) == 1  # without components every basis gives the mean patch


@pytest.mark.slow
def test_narrow_and_dark(open_page: OpenPage) -> None:
    for name in ("components", "express", "where"):
        page = open_page(
            f"filters?model=preset:vit_digits&image=digits:3&filters.view={name}",
            width=420,
            color_scheme="dark",
        )
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert paper(page) == PALETTES["dark"].paper
