"""Presenting on a large screen: pictures grow with it, and are as large as ever when it ends."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def width_of(page: Page, picture: str) -> float:
    box = page.locator(picture).bounding_box()
    assert box
    return box["width"]


@pytest.mark.parametrize(
    ("address", "picture"),
    [
        ("?lesson=fifteen&stop=7", ".ax-stage"),
        ("attention?model=checkpoint:cifar10_vit&attention.view=ablate", ".aa-stage"),
    ],
    ids=["lesson", "in a column"],
)
def test_a_picture_grows_with_the_screen(visit: Visit, address: str, picture: str) -> None:
    page = visit(address, width=1920, height=1080)
    stage = page.locator(picture)
    expect(stage).to_be_visible()
    before = width_of(page, picture)
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    page.wait_for_function(
        "([picture, least]) => [...document.querySelectorAll('[data-testid=stMain] *')]"
        ".flatMap((node) => [...(node.shadowRoot?.querySelectorAll(picture) ?? [])])"
        ".some((node) => node.clientWidth >= least)",
        arg=[picture, 1.2 * before],
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    title, stage = (page.locator(name).bounding_box() for name in ("h1", "[data-vitviz-picture]"))
    assert title and stage and 6 <= title["y"] <= stage["y"] - title["height"], "the title is cut off"
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.documentElement.style.getPropertyValue('--vv-grow')")


@pytest.mark.parametrize(
    ("address", "chart"),
    [
        ("attention_distance?model=checkpoint:digits_vit&image=digits:3", ".hd-plot canvas"),
        ("on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:8", ".op-chart canvas"),
        ("positions?model=checkpoint:digits_vit&image=digits:3&positions.view=matter", ".ra-curves"),
    ],
    ids=["heads", "a change", "a race"],
)
def test_a_chart_s_words_grow_with_the_type(visit: Visit, address: str, chart: str) -> None:
    page = visit(address, width=1920, height=1080)
    drawn = page.locator(chart).first
    expect(drawn).to_be_visible()
    size = "(node) => node.getContext('2d').getTransform().a / devicePixelRatio"
    assert drawn.evaluate(size) == 1
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    page.wait_for_function(
        "(chart) => [...document.querySelectorAll('[data-testid=stMain] *')]"
        ".flatMap((node) => [...(node.shadowRoot?.querySelectorAll(chart) ?? [])])"
        ".some((node) => node.getContext('2d').getTransform().a >= 1.4 * devicePixelRatio)",
        arg=chart,
    )
    box = drawn.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 1920


@pytest.mark.parametrize(
    ("address", "picture"),
    [
        ("attention?model=checkpoint:cifar10_vit", "explorer"),
        ("patches?model=checkpoint:digits_vit&image=digits:3", "patches_stage"),
        ("swin?swin.view=mask", "swin_stepper"),
        ("live_lab?model=checkpoint:digits_vit", "timeline"),
    ],
    ids=["attention", "patches", "the mask", "the lab"],
)
def test_the_picture_takes_the_screen(visit: Visit, address: str, picture: str) -> None:
    page = visit(address, width=1280, height=720)
    expect(page.locator(f"[data-component={picture}]")).to_be_visible()
    page.keyboard.press("p")
    box = page.locator("[data-vitviz-picture]")
    expect(box.locator(f"[data-component={picture}]")).to_be_visible()
    page.wait_for_function(  # until what comes late is fitted, too
        """() => { const { height, bottom } = document.querySelector('[data-vitviz-picture]').getBoundingClientRect();
            return height >= 0.85 * innerHeight && bottom <= innerHeight; }"""
    )
    place, title = box.bounding_box(), page.locator("h1").bounding_box()
    assert place and title and title["y"] + title["height"] <= place["y"] + 1 and title["height"] <= 40
    assert title["y"] >= 6, "the title touches the screen's edge"
    assert place["y"] + place["height"] <= 720 and place["x"] + place["width"] <= 1280
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(page.locator('[data-testid="stSidebar"]')).to_be_visible()


def test_no_frame_strikes_the_title_out(visit: Visit) -> None:
    """A click into the page before P gave its main part the focus, whose frame lay across the title."""
    page = visit("experiments?experiments.view=slip", width=1280, height=720)
    page.locator("h1").click()
    frame = "getComputedStyle(document.querySelector('[data-testid=stMain]'), '::before').display"
    assert page.evaluate(frame) != "none", "who moves by keys sees where the focus is"
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    assert page.evaluate(frame) == "none"
