"""What a failing test leaves, where its message says; and what a test that has ended does not leave: its visitors."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.browser.conftest import TAIL_LINES, Screens, keep

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
    for picture in folder.glob("*.png"):
        with Image.open(picture) as image:
            colours.add((*image.size, *image.convert("RGB").getpixel((160, 100))))
    context.close()
    assert {(320, 200, 255, 0, 0), (320, 200, 0, 0, 255)} <= colours  # beside pages of other tests, if any
    kept = (folder / "server.log").read_text().splitlines()
    assert (len(kept), kept[-1]) == (TAIL_LINES, f"line {2 * TAIL_LINES - 1}")


def test_visitors_are_strangers_to_each_other_and_to_the_test_before(browser: Browser, site: str) -> None:
    screens = Screens(browser)
    for _ in range(2):  # the second time on the same two contexts
        ann, bob = screens.take(locale="de"), screens.take(locale="de")
        for context, name in ((ann, "ann"), (bob, "bob")):
            page = context.new_page()
            page.goto(f"{site}/README.md")
            assert page.evaluate("[document.cookie, localStorage.length]") == ["", 0]
            page.evaluate("name => { document.cookie = `who=${name}`; localStorage.who = name; }", name)
        screens.forget()
        assert [len(context.pages) for context in (ann, bob)] == [0, 0]
    assert screens.kept == {repr({"locale": "de"}): [ann, bob]}
    ann.close()
    bob.close()
    assert screens.kept == {repr({"locale": "de"}): []}
