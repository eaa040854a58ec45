"""A teacher and two learners, one of them on a phone and one by keys alone: follow, ask, challenge."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import lead, settle

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.timeout(300)]
Visit = Callable[..., Page]
FOLLOWING = "you follow"


def press(page: Page, node: Locator, key: str = "Enter") -> None:
    node.focus()
    page.keyboard.press(key)


def test_a_class_follows_answers_and_races(visit: Visit) -> None:
    teacher = visit("class_room")
    teacher.get_by_role("button", name="Open a class").click()
    shown = teacher.locator(".class-way strong")
    shown.wait_for()
    code = re.sub(r"\s", "", shown.inner_text())
    expect(teacher.locator(".class-way img")).to_have_js_property("complete", True)
    phone = visit(f"class_room?class={code}", width=390, height=844, has_touch=True)
    keys = visit("class_room")
    keys.get_by_label("Code of the class").focus()
    keys.keyboard.type(code.lower())
    press(keys, keys.get_by_role("button", name="Join", exact=True))
    for learner in (phone, keys):
        expect(learner.get_by_text(FOLLOWING)).to_be_visible()
    expect(teacher.get_by_text("2 follow").first).to_be_visible()
    follow(teacher, phone, keys)
    ask(teacher, phone, keys)
    challenge(teacher, phone)


def follow(teacher: Page, phone: Page, keys: Page) -> None:
    """Page, head and pin follow; who looks around is left alone, and comes back."""
    lead(teacher, "attention?model=checkpoint:digits_vit&image=digits:3")
    for learner in (phone, keys):
        learner.wait_for_url(re.compile(r"/attention\?"))
    teacher.locator(".ax-heads button").nth(2).click()
    expect(phone).to_have_url(re.compile("attention.head=3"))
    press(keys, keys.get_by_role("button", name="Look around"))
    expect(keys.get_by_text("on your own")).to_be_visible()
    expect(teacher.get_by_text("1 follows, 1 looks around")).to_be_visible()
    teacher.locator(".ax-heads button").nth(1).click()
    expect(phone).to_have_url(re.compile("attention.head=2"))
    expect(keys).not_to_have_url(re.compile("attention.head=2"))
    press(keys, keys.get_by_role("button", name="Back to class"))
    expect(keys).to_have_url(re.compile("attention.head=2"))
    for learner in (phone, keys):
        settle(learner)


def ask(teacher: Page, phone: Page, keys: Page) -> None:
    """A stop's question: pointed at by finger and by keys, hidden, shown, measured."""
    link = (
        "attention?model=checkpoint:digits_vit&step=2429&image=digits:3&pin=0.062,0.062&lesson=fifteen&stop=8"
    )
    lead(teacher, link)
    teacher.get_by_role("button", name="Ask the class").click()
    question = ".st-key-class_asked"
    stage = phone.locator(f"{question} canvas")
    stage.wait_for()
    box = stage.bounding_box()
    assert box is not None
    stage.tap(position={"x": box["width"] * 0.3, "y": box["height"] * 0.45})
    expect(phone.locator(question)).to_contain_text("Your answer is row 4, column 3")
    phone.locator(question).get_by_role("button", name="Answer").tap()
    press(keys, keys.locator(f"{question} canvas"), "ArrowRight")
    keys.keyboard.press("ArrowRight")
    keys.keyboard.press("Enter")
    expect(keys.locator(question)).to_contain_text("Your answer is row 1, column 2")
    press(keys, keys.locator(question).get_by_role("button", name="Answer"))
    expect(teacher.locator(question)).to_contain_text("2 answers so far; hidden until you show them")
    for learner in (phone, keys):
        expect(learner.locator(question)).to_contain_text("hidden until your teacher shows them")
    teacher.get_by_role("button", name="Show what is measured").click()
    for page in (teacher, phone, keys):
        expect(page.locator(question)).to_contain_text("Measured: row")
        expect(page.locator(question)).to_contain_text(re.compile(r"[012] of 2 pointed at it"))
    teacher.get_by_role("button", name="End the question").click()
    expect(phone.locator(question)).to_have_count(0)


def challenge(teacher: Page, phone: Page) -> None:
    """A run is handed in, trains in its turn, and stands on everybody's board; another opens it."""
    teacher.locator(".st-key-class_bar").get_by_role("link", name="Class").click()
    teacher.get_by_role("button", name="Open a challenge").click()
    phone.locator(".st-key-class_bar").get_by_role("link", name="Challenge").tap()
    phone.get_by_role("link", name="Hand in a run from the live lab").tap()
    phone.get_by_role("button", name="Hand it in").tap()
    expect(teacher.locator(".class-board")).to_contain_text(
        re.compile(r"No name.*(waits|trained|begins|\d\s%)", re.S)
    )
    teacher.get_by_role("combobox", name="Open one of them").click()
    teacher.get_by_role("option", name="1. No name").click()
    teacher.get_by_role("link", name="Its recipe and curves").click()
    teacher.wait_for_url(re.compile(r"live_lab\.run="))
    settle(teacher)
    expect(teacher.get_by_role("button", name="Stop")).to_have_count(0)  # looked at, not steered
