"""A teacher, a learner on a phone and one with keys only: steps of the walk of a whole class, and what it hides."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage, lead, settle, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.timeout(300)]
FOLLOWING = "following the teacher"
QUESTION = ".st-key-class_asked"


def press(page: Page, node: Locator, key: str = "Enter") -> None:
    node.focus()
    page.keyboard.press(key)


def open_class(session: OpenPage) -> tuple[Page, str]:
    """Return the teacher's page and the code of the class."""
    teacher = session("class_room", width=1280, height=720)
    teacher.get_by_role("button", name="Open class").click()
    return teacher, re.sub(r"\s", "", teacher.locator(".class-way strong").inner_text())


def follow(teacher: Page, phone: Page, keys: Page) -> None:
    """Page, head and pin follow; a learner who stops following is left alone until following again."""
    lead(teacher, "attention?model=checkpoint:digits_vit&image=digits:3")
    for learner in (phone, keys):
        learner.wait_for_url(re.compile(r"/attention\?"))
    teacher.locator(".ax-heads button").nth(2).click()
    expect(phone).to_have_url(re.compile("attention.head=3"))
    press(keys, keys.get_by_role("button", name="Stop following"))
    expect(keys.get_by_text("not following")).to_be_visible()
    expect(teacher.get_by_text("1 of 2 following")).to_be_visible()
    teacher.locator(".ax-heads button").nth(1).click()
    expect(phone).to_have_url(re.compile("attention.head=2"))
    expect(keys).not_to_have_url(re.compile("attention.head=2"))
    press(keys, keys.get_by_role("button", name="Follow teacher"))
    expect(keys).to_have_url(re.compile("attention.head=2"))
    for learner in (phone, keys):
        settle(learner)


def ask(teacher: Page, phone: Page, keys: Page) -> None:
    """A stop's question is answered by touch and by keys, hidden, shown and measured."""
    link = (
        "attention?model=checkpoint:digits_vit&step=2429&image=digits:3&pin=0.062,0.062&lesson=fifteen&stop=8"
    )
    lead(teacher, link)
    teacher.get_by_role("button", name="Ask the class").click()
    stage = phone.locator(".ax-stage canvas.class-votes")  # on the page's image
    stage.wait_for()
    box = stage.bounding_box()
    assert box is not None
    stage.tap(position={"x": box["width"] * 0.3, "y": box["height"] * 0.45})
    expect(phone.locator(QUESTION)).to_contain_text("Your answer: row 4, column 3")
    phone.locator(QUESTION).get_by_role("button", name="Submit answer").tap()
    press(keys, keys.locator(".ax-stage canvas.class-votes"), "ArrowRight")
    keys.keyboard.press("ArrowRight")
    keys.keyboard.press("Enter")
    expect(keys.locator(QUESTION)).to_contain_text("Your answer: row 1, column 2")
    press(keys, keys.locator(QUESTION).get_by_role("button", name="Submit answer"))
    expect(teacher.locator(QUESTION)).to_contain_text("2 answers, hidden until you show them")
    for learner in (phone, keys):
        expect(learner.locator(QUESTION)).to_contain_text("hidden until your teacher shows them")
    teacher.get_by_role("button", name="Measure and show").click()
    for page in (teacher, phone, keys):
        expect(page.locator(QUESTION)).to_contain_text("Measured: row")
        expect(page.locator(QUESTION)).to_contain_text(re.compile(r"[012] of 2 chose this patch"))
    teacher.get_by_role("button", name="End question").click()
    expect(phone.locator(QUESTION)).to_have_count(0)


def challenge(teacher: Page, phone: Page) -> None:
    """A run is trained, then handed in as it is, and shown on every board; the teacher opens it."""
    teacher.locator(".st-key-class_bar").get_by_role("link", name="Class").click()
    teacher.get_by_role("button", name="Open challenge").click()
    phone.locator(".st-key-class_bar").get_by_role("link", name="Challenge").tap()
    phone.get_by_role("link", name="Train a model in the live lab").tap()
    phone.wait_for_url(re.compile(r"live_lab\.recipe="))
    phone.goto(f"{phone.url}&live_lab.length=1&live_lab.snapshots=2")
    settle(phone)
    phone.get_by_role("button", name="Train without handing in").tap()
    hand_in = phone.get_by_role("button", name="Hand it in", exact=True)
    expect(hand_in).to_be_enabled(timeout=180_000)
    hand_in.tap()
    expect(phone.get_by_role("button", name="Handed in")).to_be_visible()
    expect(teacher.locator(".class-board tr").nth(1)).to_contain_text(re.compile(r"Anonymous.*\d\s%"))
    expect(teacher.locator(".class-board tr")).to_have_count(2)
    run = teacher.get_by_role("combobox", name="Open a run")
    # An open list closes when the page scrolls, also by a scroll whose event comes after the click: at the lower edge
    # Playwright's own scroll closed it in 2 of 4 clicks, and a mouse without it in none of 20.
    run.evaluate(
        "node => new Promise((done) => { node.scrollIntoView({ block: 'center' });"
        " requestAnimationFrame(() => requestAnimationFrame(done)); })"
    )
    run.click()
    teacher.get_by_role("option", name="1. Anonymous").click()
    teacher.get_by_role("link", name="Recipe and curves").click()
    teacher.wait_for_url(re.compile(r"live_lab\.run="))
    settle(teacher)
    expect(teacher.get_by_role("button", name="Stop")).to_have_count(0)  # visible, not editable


def test_a_learner_finds_no_measured_answer_before_the_teacher_shows_it(
    open_page: OpenPage, server_url: str
) -> None:
    """Neither the panel, another page, a permalink without the class nor Back measures or shows the proof."""
    stop = "patches?model=checkpoint:digits_vit&image=digits:3&patches.view=puzzle&lesson=fifteen&stop=5"
    stop += "&patches.shuffled=0"
    teacher, code = open_class(open_page)
    learner = open_page(f"class_room?class={code}")
    expect(learner.get_by_text(FOLLOWING)).to_be_visible()
    lead(teacher, stop)
    learner.wait_for_url(re.compile(r"/patches\?"))
    settle(learner)
    measure = learner.get_by_role("button", name="Measure", exact=True)
    expect(measure).to_be_visible()
    teacher.get_by_role("button", name="Ask the class").click()
    panel = learner.locator(".st-key-lesson_panel")
    expect(panel).to_contain_text("answer in your teacher's question")

    def check_hidden() -> None:
        expect(learner.locator(QUESTION)).to_be_visible()
        expect(measure).to_have_count(0)
        expect(learner.get_by_role("button", name="Predict again")).to_have_count(
            0
        )  # stands by a measured answer
        expect(learner).not_to_have_url(re.compile(r"patches\.shuffled=100"))

    check_hidden()
    learner.goto(f"{server_url}/{stop}".replace("shuffled=0", "shuffled=100"))
    settle(learner)
    check_hidden()
    learner.goto(f"{server_url}/{stop}".replace("&patches.shuffled=0", ""))  # its default is the proof
    settle(learner)
    check_hidden()
    learner.goto(f"{server_url}/block?model=checkpoint:digits_vit&step=2429&image=digits:3")
    settle(learner)
    check_hidden()
    learner.go_back()
    settle(learner)
    check_hidden()
    learner.get_by_role("button", name="Follow teacher").click()
    expect(panel).to_contain_text("answer in your teacher's question")
    check_hidden()
    teacher.get_by_role("button", name="Measure and show").click()
    expect(learner.locator(QUESTION)).to_contain_text("Measured:")
    expect(measure).to_be_visible()
    expect(learner).to_have_url(re.compile(r"patches\.shuffled=100"))


def test_a_question_moves_no_image_and_the_pen_draws_on_it(open_page: OpenPage) -> None:
    teacher, code = open_class(open_page)
    learner = open_page(f"class_room?class={code}", width=1280, height=720)
    phone = open_page(f"class_room?class={code}", width=390, height=844, has_touch=True)
    lead(teacher, "attention?model=checkpoint:digits_vit&image=digits:3&pin=cls")
    for page in (learner, phone):
        page.wait_for_url(re.compile(r"/attention\?"))
        settle(page)

    def top(page: Page) -> float:
        settle(page)
        box = page.locator("[data-component=explorer] .ax-left").bounding_box()
        assert box is not None
        return box["y"]

    before = [top(page) for page in (teacher, learner, phone)]
    teacher.get_by_role("button", name="Ask the class").click()
    for page in (teacher, learner, phone):
        expect(page.locator(QUESTION)).to_be_visible()
    wait_for(teacher, lambda: [top(page) for page in (teacher, learner, phone)], before.__eq__)
    assert max(before) < 600 and max(before[:2]) <= 220
    teacher.get_by_role("button", name="End question").click()

    for page in (learner, phone):  # a stroke stays as long as this moment
        page.evaluate("const now = performance.now(); performance.now = () => now + (window.passed ?? 0)")
    teacher.get_by_role("button", name="Pen", exact=True).click()
    box = teacher.locator(".ax-stage").bounding_box()
    assert box is not None
    teacher.mouse.move(box["x"] + 40, box["y"] + 40)
    teacher.mouse.down()
    teacher.mouse.move(box["x"] + 160, box["y"] + 120, steps=5)
    teacher.mouse.up()
    for page in (learner, phone):
        expect(page.locator(".class-pen[data-strokes='1']")).to_have_count(1)
    for page in (learner, phone):  # its time is over
        page.evaluate("window.passed = 1e6")
        expect(page.locator(".class-pen[data-strokes='1']")).to_have_count(0)
