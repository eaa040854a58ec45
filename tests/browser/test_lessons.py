"""The first lesson, completed by mouse, by keyboard alone, and by touch on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.stores import lessons, registry
from tests.browser.conftest import OpenPage, lead, settle
from tests.browser.test_attention import cell
from tests.browser.test_class import press
from vitviz.lessons.task_checks import (
    ControlSet,
    FactReached,
    ImageChosen,
    PredictionMade,
    StepInRange,
    TokenPinned,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
LESSON = lessons.list_shipped(registry.BY_SLUG)["fifteen"]


def panel(page: Page) -> Locator:
    return page.locator(".st-key-lesson_panel")


def at_stop(page: Page, number: int) -> None:
    expect(page).to_have_url(re.compile(rf"stop={number}(&|$)"))
    expect(panel(page)).to_contain_text(f"Stop {number} of {len(LESSON.stops)}")
    settle(page)


def act(page: Page, node: Locator, how: str) -> None:
    """Press a button or a link, or select an option."""
    if how == "keys":
        press(page, node)
    elif how == "touch":
        node.tap()
    else:
        node.click()


def point(page: Page, stage: Locator, row: int, col: int, how: str) -> None:
    """Select a patch of an image."""
    if how == "keys":
        press(page, stage, "ArrowRight")
        for key in (*("ArrowDown",) * row, *("ArrowRight",) * col, "Enter"):
            page.keyboard.press(key)
    elif how == "touch":
        stage.tap(position=cell(stage, row, col))
    else:
        stage.click(position=cell(stage, row, col))


def answer(page: Page, form: Locator, name: str, how: str = "mouse") -> None:
    """Answer a question with the first option, a position on the scale, a number, or a patch, and press a button."""
    button = form.get_by_role("button", name=name, exact=True)
    button.wait_for()
    slider = form.locator('[data-testid="stSlider"]')
    if slider.count():
        press(page, slider.get_by_role("slider"), "ArrowRight")  # where it stands at first is no guess
    number = form.locator('[data-testid="stNumberInput"] input')
    if number.count():
        number.fill("64")
        number.press("Enter")
    options = form.locator('[data-testid="stButtonGroup"] button')
    if options.count():
        act(page, options.first, how)
    patches = form.locator("[data-component=answer_points] canvas")
    if patches.count():
        point(page, patches, 3, 2, how)
        expect(form).to_contain_text("Your answer: row 4, column 3")
    expect(button).to_be_enabled()
    act(page, button, how)


@contextmanager
def beside(page: Page, how: str) -> Iterator[Locator]:
    """Yield the sidebar; on a phone, open it and close it afterwards."""
    sidebar = page.locator('[data-testid="stSidebar"]')
    if how == "touch":
        page.locator('[data-testid="stExpandSidebarButton"]').tap()
    yield sidebar
    if how == "touch":
        settle(page)
        sidebar.locator('[data-testid="stSidebarCollapseButton"] button').tap()


def do(page: Page, number: int, how: str) -> None:
    """Complete a stop's task."""
    check = LESSON.stops[number - 1].check
    if isinstance(check, TokenPinned):
        act(page, page.locator('[data-part="patches"] .mp-tile'), how)
    elif isinstance(check, PredictionMade):
        answer(page, panel(page), "Measure", how)
        expect(panel(page).get_by_role("button", name="Predict again")).to_be_visible()
    elif isinstance(check, StepInRange):
        if how == "touch":  # without the sidebar
            press(page, panel(page).locator('input[type="range"]'), "Home")
            return
        with beside(page, how) as sidebar:
            press(page, sidebar.get_by_role("slider").first, "Home")
    elif isinstance(check, ControlSet):
        act(page, page.locator(".ax-heads button").nth(2), how)
    elif isinstance(check, ImageChosen):
        act(page, page.get_by_role("button", name="Undo"), how)  # of the two strokes of the drawn 8
    elif isinstance(check, FactReached):
        board = page.locator("[data-component=ablation_view] .aa-stage")
        for col in range(3):
            point(page, board, 0, col, how)
            settle(page)


def walk(page: Page, first: int, how: str) -> None:
    """Complete all stops from `first`, and check that text and links are visible and nothing overflows."""
    for number in range(first, len(LESSON.stops) + 1):
        at_stop(page, number)
        if how == "touch":
            expect(panel(page).get_by_text(f"Stop {number} of")).to_be_in_viewport()
            expect(panel(page).get_by_text(LESSON.stops[number - 1].task)).to_be_in_viewport()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        do(page, number, how)
        expect(panel(page)).to_contain_text("This shows:")
        if number < len(LESSON.stops):
            way = page.locator(".st-key-lesson_next a")
            if (
                how == "touch"
            ):  # what was done may lie far below the words: the way on stays in reach, for a thumb
                expect(way).to_be_in_viewport()
                assert way.bounding_box()["height"] >= 40
            act(page, way, how)
    expect(panel(page)).to_contain_text("You completed the last stop.")


@pytest.mark.slow
def test_the_first_lesson_is_walked_to_its_last_stop_by_keys(open_page: OpenPage) -> None:
    walk(open_page("?lesson=fifteen&stop=2"), 2, "keys")
    assert isinstance(LESSON.stops[0].check, TokenPinned)  # the map has tests of its own


@pytest.mark.slow
def test_the_first_lesson_is_walked_on_a_phone_by_touch(open_page: OpenPage) -> None:
    walk(open_page("?lesson=fifteen&stop=1", width=390, height=844, has_touch=True), 1, "touch")


@pytest.mark.slow
def test_presenting_walks_by_arrow_keys_and_escape_leaves(open_page: OpenPage) -> None:
    page = open_page("?lesson=fifteen&stop=7")
    at_stop(page, 7)
    sidebar = page.locator('[data-testid="stSidebar"]')
    expect(panel(page).get_by_role("button", name="Present")).to_be_visible()
    page.keyboard.press("p")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("ArrowRight")
    at_stop(page, 8)
    page.keyboard.press("ArrowLeft")
    at_stop(page, 7)
    page.keyboard.press("PageUp")  # a presenter's remote
    at_stop(page, 6)
    for key in ("PageDown", " ", "ArrowRight", "ArrowRight", "ArrowLeft"):  # before any of the pages is there
        page.keyboard.press(key)
    at_stop(page, 9)
    settle(page)
    back = page.locator(".st-key-lesson_back a").bounding_box()
    assert back
    for _ in range(3):  # clicks count as presses do
        page.mouse.click(back["x"] + back["width"] / 2, back["y"] + back["height"] / 2)
    at_stop(page, 6)
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()


@pytest.mark.slow
def test_the_storyboard_s_stops_are_dragged_and_moved_by_keys(open_page: OpenPage) -> None:
    page = open_page("patches?model=preset:vit_digits&image=digits:0")
    for slug in ("patches", "swin", "attention"):
        if slug != "patches":
            lead(page, slug)
        page.get_by_role("button", name="Add to my lesson").click()
        expect(page.get_by_text(re.compile("Added as stop"))).to_be_visible()
    url = page.url.partition("/attention")[0]
    page.goto(f"{url}/lessons")
    settle(page)
    board = page.locator("[data-component=storyboard]")
    expect(board.locator("li")).to_have_text(["1. PatchesPatches", "2. SwinSwin", "3. AttentionAttention"])
    board.locator("li").nth(2).drag_to(board.locator("li").nth(0))
    expect(board.locator("li")).to_have_text(["1. AttentionAttention", "2. PatchesPatches", "3. SwinSwin"])
    expect(page.get_by_label("Title").first).to_have_value("Attention")
    board.locator("button").nth(0).focus()
    page.keyboard.press("Alt+ArrowRight")
    expect(board.locator("li").nth(1)).to_contain_text("Attention")
    expect(board.locator("[aria-current]")).to_contain_text("2. Attention")
    board.locator("button").nth(2).click()
    expect(page.get_by_label("Title").first).to_have_value("Swin")
