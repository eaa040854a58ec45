"""The classroom's first picture: phones follow the projector's pin, and answers arrive on the projector."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1440, 390])
def test_the_phones_follow_the_pin_and_their_answers_arrive(open_page: OpenPage, width: int) -> None:
    page = open_page("class_room", width=width, height=900)
    projector, phones = page.locator(".cl-wall"), page.locator(".cl-phone")
    expect(phones).to_have_count(2)
    projector.get_by_role("application").focus()
    for key in ("2", "3"):  # a patch's number
        page.keyboard.press(key)
    expect(projector).to_contain_text("Patch 23 (row 4, column 2)")
    style = projector.locator(".cl-pin").get_attribute("style") or ""
    for phone in phones.all():
        expect(phone.locator(".cl-pin")).to_have_attribute("style", style)
    expect(projector.locator(".cl-dot")).to_have_count(0)
    phones.last.get_by_role("application").focus()
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(projector.locator(".cl-dot")).to_have_text(["2"])
    expect(projector).to_contain_text("1 of 2 answers")
    expect(phones.last).to_contain_text("Answer sent")
    expect(phones.first).to_contain_text("Tap a patch to answer")
