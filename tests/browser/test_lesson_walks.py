"""Walk every shipped lesson to its last stop: alone at three sizes, and as a class whose last learner joins late."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.stores import lessons, registry
from tests.browser.conftest import OpenPage, lead, settle, wait_for
from tests.browser.test_class import QUESTION, open_class
from tests.browser.test_lessons import answer, panel
from vitviz.lessons.lesson import Lesson, Stop
from vitviz.lessons.task_checks import ControlSet, StepInRange, TokenPinned

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.slow, pytest.mark.timeout(1800)]
LESSONS = lessons.list_shipped(registry.BY_SLUG)
NO_RUN_YET = ("live_lab",)  # pages whose image comes with a run
STAGE = ".vv :is(canvas, svg, img, table), .js-plotly-plot .main-svg"
PICTURES = (
    f'[data-testid="stMain"] :is({STAGE}, .st-key-lesson_panel [data-testid="stImage"] img) >> visible=true'
)

ON_SCREEN = """all => all.some((one) => {
  const { top, width, height } = one.getBoundingClientRect();
  return width * height > 3600 && top >= 0 && top < innerHeight;
})"""


def wait_for_picture(page: Page) -> None:
    """Wait until an image, larger than a thumbnail, begins on the screen."""
    wait_for(page, lambda: page.locator(PICTURES).evaluate_all(ON_SCREEN), bool)


def check_stop(page: Page, lesson: Lesson, number: int) -> None:
    """The stop's page is open with its words and an image, which begins on the first screen, and fits its width."""
    stop = lesson.stops[number - 1]
    slug = "" if stop.link.slug == "home" else stop.link.slug
    expect(page).to_have_url(re.compile(rf":\d+/{slug}\?.*stop={number}(&|$)"))
    expect(panel(page)).to_contain_text(f"Stop {number} of {len(lesson.stops)}")
    settle(page)
    if stop.link.slug not in NO_RUN_YET:
        wait_for_picture(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"stop {number} is too wide"


def do(page: Page, stop: Stop) -> bool:
    """Do a stop's task by what its words name; return False for a task that takes a hand or a run."""
    check = stop.check
    if stop.question is not None:
        answer(page, panel(page), "Measure")
        expect(panel(page).get_by_role("button", name="Predict again")).to_be_visible()
    elif isinstance(check, TokenPinned) and stop.link.slug == "home":
        page.locator('[data-part="patches"] .mp-tile').first.click()
    elif isinstance(check, StepInRange):
        panel(page).locator('input[type="range"]').focus()
        page.keyboard.press("Home" if check.at_most == 0 else "End")
    elif isinstance(check, ControlSet) and (labels := re.findall(r"'(.+?)'", stop.task)):
        for label in labels:
            page.get_by_text(label, exact=True).locator("visible=true").last.click()
            settle(page)
        return labels != ["Options"]  # its slider takes a hand
    elif isinstance(check, ControlSet) and check.key == "attention.head":
        page.locator(".ax-heads button").nth(2).click()
    else:
        return False
    return True


def walk(page: Page, lesson: Lesson, look: Callable[[Page, str], None] = lambda *_: None) -> None:
    for number, stop in enumerate(lesson.stops, 1):
        check_stop(page, lesson, number)
        look(page, f"{number:02d}-before")
        if do(page, stop):
            expect(panel(page)).to_contain_text("This shows:")
            look(page, f"{number:02d}-after")
        if number < len(lesson.stops):
            way = page.locator(".st-key-lesson_next a")
            way.tap() if "390" in str(page.viewport_size) else way.click()


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1366, 768), (390, 844)])
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_to_its_last_stop(open_page: OpenPage, name: str, width: int, height: int) -> None:
    page = open_page(f"?lesson={name}&stop=1", width=width, height=height, has_touch=width < 640)
    walk(page, LESSONS[name])


def is_in_sight(page: Page, node: Locator) -> bool:
    """The panel, which scrolls, shows a part of its content without being scrolled."""
    box, frame = node.bounding_box(), panel(page).bounding_box()
    assert box is not None and frame is not None
    return frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1366, 768)])
def test_a_question_and_its_answer_are_in_sight_on_a_low_screen(
    open_page: OpenPage, width: int, height: int
) -> None:
    page = open_page("?lesson=fifteen&stop=8", width=width, height=height)
    check_stop(page, LESSONS["fifteen"], 8)
    measure = panel(page).get_by_role("button", name="Measure", exact=True)
    measure.wait_for()
    assert is_in_sight(page, measure)
    page.goto(re.sub(r"[^/]*$", "?lesson=fifteen&stop=6", page.url))
    check_stop(page, LESSONS["fifteen"], 6)
    answer(page, panel(page), "Measure")
    lengths = (
        panel(page)
        .get_by_text(re.compile("attention adds a vector of length .* and the MLP one of length"))
        .last
    )
    lengths.wait_for()
    assert is_in_sight(page, lengths)


def ask(teacher: Page, learners: list[Page]) -> None:
    """Ask the stop's question, have everybody answer it, show what is measured, and end it."""
    teacher.get_by_role("button", name="Ask the class").click()
    for learner in learners:
        answer(learner, learner.locator(QUESTION), "Submit answer")
        expect(learner.locator(QUESTION)).to_contain_text("Your answer")
        expect(panel(learner).get_by_role("button", name="Measure")).to_have_count(0)
    teacher.get_by_role("button", name="Measure and show").click()
    for page in (teacher, *learners):
        expect(page.locator(QUESTION)).to_contain_text("Measured")
    teacher.get_by_role("button", name="End question").click()
    expect(teacher.locator(QUESTION)).to_have_count(0)


@pytest.mark.parametrize("name", LESSONS)
def test_a_class_walks_a_lesson_to_its_last_stop(open_page: OpenPage, name: str) -> None:
    lesson = LESSONS[name]
    teacher, code = open_class(open_page)
    learners = [open_page(f"class_room?class={code}", width=390, height=844, has_touch=True)]
    for number, stop in enumerate(lesson.stops, 1):
        if number == len(lesson.stops) // 2:
            learners.append(open_page(f"class_room?class={code}", width=1366, height=768))
        lead(teacher, f"{stop.link}&lesson={name}&stop={number}")
        for page in (teacher, *learners):
            check_stop(page, lesson, number)
        if stop.question is not None:
            ask(teacher, learners)
