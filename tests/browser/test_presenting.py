"""Presenting on a large screen: images grow with it, and are as large as ever when it ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, wait_for
from tests.rows import rows

pytestmark = pytest.mark.browser


def width_of(page: Page, image: str) -> float:
    box = page.locator(image).bounding_box()
    assert box
    return box["width"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "image"),
    [
        ("?lesson=fifteen&stop=7", ".ax-stage"),
        ("attention?model=checkpoint:cifar10_vit&attention.view=ablate", ".aa-stage"),
    ],
    ids=["lesson", "in a column"],
)
def test_an_image_grows_with_the_screen(open_page: OpenPage, address: str, image: str) -> None:
    page = open_page(address, width=1920, height=1080)
    stage = page.locator(image)
    expect(stage).to_be_visible()
    before = width_of(page, image)
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    page.wait_for_function(
        "([picture, least]) => [...document.querySelectorAll('[data-testid=stMain] *')]"
        ".flatMap((node) => [...(node.shadowRoot?.querySelectorAll(picture) ?? [])])"
        ".some((node) => node.clientWidth >= least)",
        arg=[image, 1.2 * before],
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wait_for(  # the title is whole, above the image
        page,
        lambda: [page.locator(name).bounding_box() for name in ("h1", "[data-vitviz-picture]")],
        lambda boxes: 6 <= boxes[0]["y"] <= boxes[1]["y"] - boxes[0]["height"],
    )
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.documentElement.style.getPropertyValue('--vv-grow')")


@pytest.mark.parametrize(
    ("address", "chart"),
    rows(
        [
            ("attention_distance?model=checkpoint:digits_vit&image=digits:3", ".hd-plot canvas"),
            ("on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:8", ".op-chart canvas"),
            (
                "positions?model=checkpoint:digits_vit&image=digits:3&positions.view=matter",
                ".ra-stage .ch-canvas",
            ),
        ],
        lambda row: row[1] == ".ra-stage .ch-canvas",
    ),
    ids=["heads", "a change", "a race"],
)
def test_a_chart_s_words_grow_with_the_type(open_page: OpenPage, address: str, chart: str) -> None:
    page = open_page(address, width=1920, height=1080)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "image"),
    rows(
        [
            ("attention?model=checkpoint:cifar10_vit", "explorer"),
            ("patches?model=checkpoint:digits_vit&image=digits:3", "patches_stage"),
            ("swin?swin.view=mask", "swin_stepper"),
            ("live_lab?model=checkpoint:digits_vit", "timeline"),
            ("", "map"),
            ("hybrids", "pipeline_view"),
        ],
        lambda row: row[1] in ("explorer", "timeline", "map"),
    ),
    ids=["attention", "patches", "the mask", "the lab", "Start", "hybrids"],
)
def test_the_image_takes_the_screen(open_page: OpenPage, address: str, image: str) -> None:
    page = open_page(address, width=1280, height=720)
    expect(page.locator(f"[data-component={image}]")).to_be_visible()
    page.keyboard.press("p")
    box = page.locator("[data-vitviz-picture]")
    expect(box.locator(f"[data-component={image}]")).to_be_visible()
    page.wait_for_function(  # until what comes late is fitted, too
        """() => { const { height, bottom } = document.querySelector('[data-vitviz-picture]').getBoundingClientRect();
            return height >= 0.85 * innerHeight && bottom <= innerHeight; }"""
    )

    def is_whole(boxes: list[Any]) -> bool:
        """The title is one line off the screen's edge, above the image, which leaves the screen nowhere."""
        place, title = boxes
        is_above = 6 <= title["y"] <= place["y"] + 1 - title["height"] and title["height"] <= 40
        return is_above and place["y"] + place["height"] <= 720 and place["x"] + place["width"] <= 1280

    wait_for(page, lambda: [box.bounding_box(), page.locator("h1").bounding_box()], is_whole)
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(page.locator('[data-testid="stSidebar"]')).to_be_visible()


def test_no_frame_strikes_the_title_out(open_page: OpenPage) -> None:
    """A click into the page before P gave its main part the focus, whose frame lay across the title."""
    page = open_page("experiments?experiments.view=slip", width=1280, height=720)
    page.locator("h1").click()
    frame = "getComputedStyle(document.querySelector('[data-testid=stMain]'), '::before').display"
    assert page.evaluate(frame) != "none", "who moves by keys sees where the focus is"
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    assert page.evaluate(frame) == "none"


@pytest.mark.parametrize("width", [1280, 1440])
def test_the_step_cards_of_swin_are_whole(open_page: OpenPage, width: int) -> None:
    page = open_page("swin", width=width, height=720)
    words = page.locator("[data-component=swin_stepper] .sw-bar button > *")
    expect(words.first).to_be_visible()
    cut = """(all) => all.filter((node) => node.scrollWidth > node.clientWidth + 1
      || node.getBoundingClientRect().right > node.parentElement.getBoundingClientRect().right)
      .map((node) => node.textContent)"""
    wait_for(page, lambda: words.evaluate_all(cut), [].__eq__)
    page.keyboard.press("p")
    expect(page.locator('[data-testid="stSidebar"]')).to_be_hidden()
    expect(page.locator("[data-vitviz-picture] [data-component=swin_stepper]")).to_be_visible()
    wait_for(page, lambda: words.evaluate_all(cut), [].__eq__)


def test_start_keeps_its_wide_layout_beside_a_lesson(open_page: OpenPage) -> None:
    page = open_page("?lesson=fifteen&stop=1", width=1280, height=800)
    expect(page.locator("[data-component=map][data-ready=true]")).to_be_visible()
    panel, image = page.locator(".st-key-lesson_panel"), page.locator("[data-component=map]")
    wait_for(  # the lesson stands beside the page
        page,
        lambda: [image.bounding_box(), panel.bounding_box()],
        lambda boxes: boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"],
    )
    expect(image).not_to_have_class(re.compile("mp-narrow"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
