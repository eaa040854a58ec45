"""Tiles and reconstruction under a real pointer and the keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import paper
from vitviz.plots.theme import PALETTES

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]


def view(page: Page, name: str) -> Locator:
    found = page.locator(f"[data-component={name}]")
    expect(found).to_have_attribute("data-ready", "true")
    return found


def errors(stage: Locator) -> list[float]:
    """Return the error under each reconstruction, in grey levels."""
    return [float(found) for found in re.findall(r"error ([\d.]+) levels", stage.text_content() or "")]


def test_a_tile_is_enlarged_by_pointer_and_keyboard(visit: Visit) -> None:
    page = visit("filters?model=preset:vit_cifar10&image=sample:cat")
    stage = view(page, "tiles_view")
    sheet = stage.locator("canvas.ti-map").first
    box = sheet.bounding_box()
    assert box is not None
    sheet.hover(position={"x": box["width"] * 2.5 / 7, "y": box["height"] * 1.5 / 4})
    expect(stage).to_contain_text("Component 10 of 28")
    expect(stage).to_contain_text(re.compile(r"[\d.]+\s% of the variance; the first 10"))
    sheet.focus()
    sheet.press("ArrowRight")
    expect(stage).to_contain_text("Component 11 of 28")
    expect(stage.locator(".vv-live")).to_contain_text("Component 11")
    expect(sheet).to_have_attribute("aria-label", re.compile(r": 28 tiles\. .*Arrow keys move"))
    channels = stage.get_by_role(
        "img", name=re.compile(r"Values of the (red|green|blue) channel, from −0\.\d+ to 0\.\d+")
    )
    expect(channels).to_have_count(3)


def test_k_moves_in_the_browser_and_more_components_err_less(visit: Visit) -> None:
    page = visit("filters?model=preset:vit_cifar10&image=sample:cat&filters.view=express")
    stage = view(page, "rebuild_view")
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
def test_narrow_and_dark(visit: Visit) -> None:
    for name in ("components", "express", "where"):
        page = visit(
            f"filters?model=preset:vit_digits&image=digits:3&filters.view={name}",
            width=420,
            color_scheme="dark",
        )
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert paper(page) == PALETTES["dark"].paper
