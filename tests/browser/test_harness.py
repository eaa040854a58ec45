"""What a failing test leaves, what one that has ended does not leave, its users, and what `settle` waits for."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.browser.conftest import BLANK, TAIL_LINES, OpenPage, Screens, keep, settle

pytestmark = pytest.mark.browser


def test_every_open_page_and_the_end_of_the_log_are_kept(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 200})
    for colour in ("#ff0000", "#0000ff"):
        context.new_page().set_content(f"<body style='background: {colour}'>")
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(2 * TAIL_LINES)))
    folder = tmp_path / "left"
    assert str(folder) in keep(browser, folder, [log])
    colours = set()
    for shown_image in folder.glob("*.png"):
        with Image.open(shown_image) as image:
            colours.add((*image.size, *image.convert("RGB").getpixel((160, 100))))
    context.close()
    assert {(320, 200, 255, 0, 0), (320, 200, 0, 0, 255)} <= colours  # beside pages of other tests, if any
    kept = (folder / "server.log").read_text().splitlines()
    assert (len(kept), kept[-1]) == (TAIL_LINES, f"line {2 * TAIL_LINES - 1}")


LEFT = "[document.cookie, localStorage.length, sessionStorage.length, name, innerWidth]"
LEAVE = "said => { document.cookie = `who=${said}`; name = localStorage.who = sessionStorage.who = said; }"


def test_users_are_strangers_to_each_other_and_to_the_test_before(browser: Browser, site: str) -> None:
    screens = Screens(browser)
    seen: list[Page] = []
    for width in (640, 800):  # the second time in the same two tabs
        ann, bob = screens.tab(width, 480, locale="de"), screens.tab(width, 480, locale="de")
        seen += [ann, bob]
        for page, name in ((ann, "ann"), (bob, "bob")):
            page.goto(f"{site}/README.md")
            assert page.evaluate(LEFT) == ["", 0, 0, "", width]
            page.evaluate(LEAVE, name)
            page.set_viewport_size({"width": 300, "height": 200})
            page.route("**/*", lambda route: route.abort())
            page.context.new_page().goto(f"{site}/SECURITY.md")
        screens.forget()
        assert [[page.url for page in one.context.pages] for one in (ann, bob)] == [[BLANK], [BLANK]]
    assert seen[:2] == seen[2:]
    assert screens.kept == {repr({"locale": "de"}): [ann.context, bob.context]}
    ann.context.close()
    bob.context.close()
    assert screens.kept == {repr({"locale": "de"}): []}


def test_settling_waits_for_a_late_answer_to_a_click(open_page: OpenPage) -> None:
    page = open_page("attention?model=preset:vit_digits&image=digits:0")
    page.evaluate("window.requestDelayMs = 1000")
    page.get_by_test_id("stMain").get_by_text("Matrix", exact=True).click()
    settle(page)
    assert "attention.view=matrix" in page.url and page.locator("[data-component=matrix]").count()
