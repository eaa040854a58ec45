"""Walk through a whole class, from opening to closing it, with a projector, a laptop and a phone."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import WAIT_MS, OpenPage, lead, settle, wait_for
from tests.browser.test_class import FOLLOWING, QUESTION, ask, challenge, follow, open_class, press

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.timeout(900)]
DROP_S = 20.0
STOP = "patches?model=checkpoint:digits_vit&step=2429&image=digits:3&pin=0.500,0.500&patches.view=stage"
STOP += "&patches.image_px=32&patches.patch_px=4&lesson=fifteen&stop=2"
ATTENTION = "attention?model=checkpoint:digits_vit&image=digits:3&pin=0.500,0.500"


class Line:
    """A network line to the server that can be cut and mended, as a TCP forwarder."""

    def __init__(self, url: str) -> None:
        self._target = (urlsplit(url).hostname or "127.0.0.1", urlsplit(url).port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.is_cut = False
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self.is_cut = True
        self._close_all()

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self._listener.close()
        self._close_all()

    def _close_all(self) -> None:
        for end in self._open:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def line(server_url: str) -> Iterator[Line]:
    wire = Line(server_url)
    yield wire
    wire.close()


def is_on_screen(page: Page, node: Locator) -> bool:
    box, size = node.bounding_box(), page.viewport_size
    assert box is not None and size is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def submit(learner: Page, value: str) -> None:
    """Type an answer over several polls, and submit it by one click without leaving the field first."""
    asked = learner.locator(QUESTION)
    asked.locator("input").press_sequentially(value, delay=400)
    asked.get_by_role("button", name="Submit answer").click()
    expect(asked).to_contain_text("Your answer:")


@pytest.fixture
def learner(browser: Browser) -> Iterator[Page]:
    """A tab whose console may report errors, because its network drops."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


def test_a_class_from_opening_to_closing(open_page: OpenPage, runs_folder: Path) -> None:
    teacher, code = open_class(open_page)
    phone = open_page(f"class_room?class={code}", width=390, height=844, has_touch=True)
    learner = open_page("class_room", width=1366, height=768)
    learner.get_by_label("Class code").focus()
    learner.keyboard.type(code.lower())
    press(learner, learner.get_by_role("button", name="Join", exact=True))
    for page in (phone, learner):
        expect(page.get_by_text(FOLLOWING)).to_be_visible()
    expect(teacher.get_by_text("2 following").first).to_be_visible()
    follow(teacher, phone, learner)
    ask(teacher, phone, learner)
    late = ask_a_stop(open_page, teacher, phone, learner, code)
    ask_own_questions(teacher, phone, learner)
    ask_an_own_text(teacher, phone, learner)
    challenge(teacher, phone)
    take_the_lead_elsewhere(open_page, teacher, runs_folder.parent)
    close(teacher, phone, learner, late)


def test_a_class_goes_on_after_a_dropped_network_and_a_sleeping_laptop(
    open_page: OpenPage, learner: Page, line: Line
) -> None:
    teacher, code = open_class(open_page)
    phone = open_page(f"class_room?class={code}", width=390, height=844, has_touch=True)
    learner.goto(f"{line.url}/class_room?class={code}")
    settle(learner)
    expect(teacher.get_by_text("2 following").first).to_be_visible()
    lead(teacher, STOP)
    for page in (phone, learner):
        page.wait_for_url(re.compile(r"/patches\?"))
        settle(page)
    drop_the_network(teacher, learner, line)
    sleep_with_the_laptop(teacher, phone)


def ask_a_stop(session: OpenPage, teacher: Page, phone: Page, learner: Page, code: str) -> Page:
    """The bar takes no room on the projector; the phone has the question on its screen and once; counts are exact."""
    lead(teacher, STOP)
    for page in (phone, learner):
        page.wait_for_url(re.compile(r"/patches\?"))
        settle(page)
    title = teacher.locator('[data-testid="stMain"] h1').bounding_box()
    row = teacher.locator(".st-key-class_row").bounding_box()
    assert title is not None and row is not None and row["height"] <= 48 and row["y"] < 60
    assert title["y"] < 110, "the bar moves the page down"
    menus = teacher.get_by_test_id("stTopNav").bounding_box()
    assert menus is not None and menus["x"] + menus["width"] <= row["x"], "the bar covers the menus"
    button = teacher.get_by_role("button", name="Ask the class")
    assert is_on_screen(teacher, button) and teacher.evaluate("scrollY") == 0
    button.click()
    asked = phone.locator(QUESTION)
    expect(asked.get_by_role("button", name="Submit answer")).to_be_visible()
    heading = phone.locator('[data-testid="stMain"] h1')
    for node in (heading, asked, asked.locator("input")):
        wait_for(phone, lambda node=node: is_on_screen(phone, node), bool)  # type: ignore[misc]
    expect(phone.get_by_text("How many patches are there then?", exact=False)).to_have_count(1)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    submit(phone, "256")
    submit(learner, "255")
    late = session(f"class_room?class={code}")
    late.wait_for_url(re.compile(r"/patches\?"))
    submit(late, "20")
    expect(teacher.locator(QUESTION)).to_contain_text("3 answers, hidden")
    teacher.get_by_role("button", name="Measure and show").click()
    for page in (teacher, phone, learner, late):
        expect(page.locator(QUESTION)).to_contain_text(re.compile(r"Measured: .?256 patches"))
        expect(page.locator(QUESTION)).to_contain_text("1 of 3 were exact.")
    expect(teacher.locator(QUESTION)).to_contain_text("255 patches")
    teacher.get_by_role("button", name="End question").click()
    expect(phone.locator(QUESTION)).to_have_count(0)
    return late


def ask_own(teacher: Page, kind: str, prompt: str, **fields: str) -> None:
    teacher.get_by_role("button", name="More questions").click()
    teacher.get_by_role("combobox", name="Answer").click()
    teacher.get_by_role("option", name=kind).click()
    teacher.get_by_label("Question", exact=True).fill(prompt)
    for label, entry in fields.items():
        teacher.get_by_label(label, exact=True).fill(entry)
        teacher.keyboard.press("Tab")
    teacher.get_by_role("button", name="Ask this question").click()
    teacher.keyboard.press("Escape")


def ask_own_questions(teacher: Page, phone: Page, learner: Page) -> None:
    """A number is right within the teacher's tolerance; an option is chosen by a tap."""
    ask_own(teacher, "own: number with tolerance", "How many tokens?", Value="65", Tolerance="1")
    submit(phone, "64")
    submit(learner, "60")
    show_and_end(teacher, phone, "1 of 2")
    ask_own(teacher, "own: multiple choice", "What mixes tokens?")
    for page in (phone, learner):
        page.mouse.move(5, 5)  # from the button of the question before, whose reason covers the options
        page.locator(f"{QUESTION} button", has_text="attention").first.click()
        page.locator(QUESTION).get_by_role("button", name="Submit answer").click()
    show_and_end(teacher, phone, "attention")


def show_and_end(teacher: Page, phone: Page, words: str) -> None:
    expect(teacher.locator(QUESTION)).to_contain_text("2 answers, hidden")
    teacher.get_by_role("button", name="Show the correct answer").click()
    expect(phone.locator(QUESTION)).to_contain_text(words)
    teacher.get_by_role("button", name="End question").click()
    expect(phone.locator(QUESTION)).to_have_count(0)


def ask_an_own_text(teacher: Page, phone: Page, learner: Page) -> None:
    """A text is shown to the class once the teacher selects it."""
    ask_own(teacher, "own: short text", "What is a token?")
    submit(phone, "a small square")
    submit(learner, "rude")
    teacher.get_by_role("button", name="Show answers").click()
    expect(learner.locator(QUESTION)).to_contain_text("No text is shown yet.")
    teacher.get_by_role("button", name=re.compile("Review texts")).click()
    teacher.get_by_text(re.compile("a small square")).last.click()
    teacher.keyboard.press("Escape")
    expect(learner.locator(f"{QUESTION} li")).to_have_text([re.compile("a small square")])
    teacher.get_by_role("button", name="End question").click()
    expect(phone.locator(QUESTION)).to_have_count(0)


def drop_the_network(teacher: Page, learner: Page, line: Line) -> None:
    """A learner whose network drops for 20 s is on the teacher's page afterwards, without a reload."""
    line.cut()
    lead(teacher, ATTENTION)
    time.sleep(DROP_S)
    line.mend()
    learner.wait_for_url(re.compile(r"/attention\?"), timeout=90_000)
    settle(learner)
    expect(learner.get_by_text("following the teacher")).to_be_visible()


def sleep_with_the_laptop(teacher: Page, phone: Page) -> None:
    """A teacher's laptop that was asleep leads on when it wakes."""
    session = teacher.context.new_cdp_session(teacher)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    time.sleep(DROP_S)
    expect(phone.get_by_text("following the teacher")).to_be_visible()
    session.send("Page.setWebLifecycleState", {"state": "active"})
    lead(teacher, STOP)
    phone.wait_for_url(re.compile(r"/patches\?"))
    settle(phone)


def take_the_lead_elsewhere(session: OpenPage, teacher: Page, server: Path) -> None:
    """The teacher's key leads on another machine, stands in no address there and in no log, and can be revoked."""
    teacher.locator(".st-key-class_row").get_by_role("link", name="Challenge").click()
    teacher.wait_for_url(re.compile(r"/class_room\?"))
    settle(teacher)
    teacher.get_by_role("button", name="Teacher's key").click()
    teacher.get_by_role("button", name="Create key").click()
    link = teacher.locator('[data-testid="stCode"]').inner_text().strip()
    key = link.partition("#")[2]
    assert len(key) == 39 and key not in teacher.url
    tablet = session("", width=1024, height=768)
    requests: list[str] = []
    tablet.on(
        "request", lambda request: requests.append(f"{request.url} {request.headers.get('referer', '')}")
    )
    tablet.goto(link)
    settle(tablet)
    expect(tablet.get_by_role("button", name="Teacher's key")).to_be_visible()
    expect(tablet).to_have_url(re.compile(rf"/class_room\?.*class={key[:6]}"))
    secret = key.partition(".")[2]
    assert secret not in tablet.url + tablet.content() and not any(secret in line for line in requests)
    teacher.get_by_role("button", name="Revoke key").click()
    expect(tablet.get_by_text("teacher on Classroom page")).to_be_visible()
    written = [path for path in server.rglob("*") if path.is_file()]
    assert server / "server.log" in written and not any(
        secret.encode() in path.read_bytes() for path in written
    )
    teacher.keyboard.press("Escape")


def close(teacher: Page, *learners: Page) -> None:
    """The results are taken away without names; the class closes for everyone."""
    with teacher.expect_download() as download:
        teacher.get_by_role("button", name="Results of all questions").click()
    table = download.value.path().read_text()
    assert "256 patches" in table and "a small square,1" in table and "rude,1" in table
    teacher.get_by_role("button", name="Close class").click()
    teacher.get_by_role("button", name="Close class now").click()
    for page in learners:
        expect(page.get_by_text("The class is closed.")).to_be_visible(timeout=60_000)
