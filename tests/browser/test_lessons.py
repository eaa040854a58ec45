"""A visitor walks the first lesson to its end and does what it asks, by mouse and by keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shell import registry
from pages.stores import lessons
from tests.browser.conftest import settle
from tests.browser.test_attention import cell
from vitviz.lessons.checks import Control, Fact, GuessMade, Picture, Pinned, Step

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
Visit = Callable[..., Page]
LESSON = lessons.shipped(registry.BY_SLUG)["fifteen"]


def panel(page: Page) -> Locator:
    return page.locator(".st-key-lesson_panel")


def at_stop(page: Page, number: int) -> None:
    expect(page).to_have_url(re.compile(rf"stop={number}(&|$)"))
    expect(panel(page)).to_contain_text(f"Stop {number} of {len(LESSON.stops)}")
    settle(page)


def press(page: Page, node: Locator, key: str = "Enter") -> None:
    """Without a mouse: the focus, and a key."""
    node.focus()
    page.keyboard.press(key)


def measure(page: Page, keys: bool) -> None:
    """Answers the panel's question with the first option, the middle of the scale, or the pin as it stands."""
    act = press if keys else lambda _, node: node.click()
    options = panel(page).locator('[data-testid="stRadio"] [role="radiogroup"] label')
    if options.count():
        if keys:
            press(page, panel(page).locator('[data-testid="stRadio"] input').first, "Space")
        else:
            options.first.click()
    button = panel(page).get_by_role("button", name="Measure it")
    expect(button).to_be_enabled()
    act(page, button)
    expect(panel(page)).to_contain_text("Measured")


def do(page: Page, number: int, keys: bool) -> None:
    """What a stop asks."""
    check = LESSON.stops[number - 1].check
    sidebar = page.locator('[data-testid="stSidebar"]')
    if isinstance(check, GuessMade):
        if LESSON.stops[number - 1].title == "Where does [CLS] look?":
            pin(page, keys)
        measure(page, keys)
    elif isinstance(check, Step):
        slider = sidebar.get_by_role("slider").first
        press(page, slider, "Home")
    elif isinstance(check, Control):
        head = page.locator(".ax-heads button").nth(2)
        press(page, head) if keys else head.click()
    elif isinstance(check, Picture):
        field = sidebar.locator('input[type="number"]')
        field.fill("7")
        field.press("Enter")
    elif isinstance(check, Fact):
        board = page.locator("[data-component=ablate_view] .aa-stage")
        for col in range(3):
            if keys:
                board.focus()
                page.keyboard.press("ArrowRight")
                page.keyboard.press("Enter")
            else:
                board.click(position=cell(board, 0, col))
            settle(page)


def pin(page: Page, keys: bool) -> None:
    """Another patch of the explorer's picture."""
    stage = page.locator(".ax-stage")
    if keys:
        stage.focus()
        for key in ("ArrowDown", "ArrowRight", "ArrowDown", "Enter"):
            page.keyboard.press(key)
    else:
        stage.click(position=cell(stage, 3, 2))
    expect(page).not_to_have_url(re.compile(r"pin=0\.062"))


@pytest.mark.parametrize("keys", [False, True], ids=["mouse", "keys"])
def test_the_first_lesson_is_walked_to_its_last_stop(visit: Visit, keys: bool) -> None:
    page = visit("?lesson=fifteen&stop=2")
    for number in range(2, len(LESSON.stops) + 1):
        at_stop(page, number)
        do(page, number, keys)
        expect(panel(page)).to_contain_text("Done.")
        if number < len(LESSON.stops):
            way = page.locator(".st-key-lesson_next a")
            press(page, way) if keys else way.click()
    expect(panel(page)).to_contain_text("That was the last stop.")
    assert isinstance(LESSON.stops[0].check, Pinned)


def test_presenting_walks_by_arrow_keys_and_escape_leaves(visit: Visit) -> None:
    page = visit("?lesson=fifteen&stop=7")
    at_stop(page, 7)
    sidebar = page.locator('[data-testid="stSidebar"]')
    expect(panel(page).get_by_role("button", name="Present")).to_be_visible()
    page.keyboard.press("p")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("ArrowRight")
    at_stop(page, 8)
    page.keyboard.press("ArrowLeft")
    at_stop(page, 7)
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
