"""The patches page under a real pointer, a finger and the keyboard."""

from __future__ import annotations

import io
import re

import pytest
import skimage.data
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import MOVING, SLOWED, OpenPage, frames_sent, hold_slider, over

pytestmark = pytest.mark.browser
DIGIT = "patches?model=preset:vit_digits&image=digits:3&pin=0.5,0.5"


def stage(page: Page) -> Locator:
    view = page.locator("[data-component=patches_stage]")
    expect(view).to_have_attribute("data-ready", "true")
    return view


def part(view: Locator, role: str) -> Locator:
    return view.locator(f"[data-role={role}]")


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]


def test_an_uploaded_photo_is_cut_into_patches(open_page: OpenPage) -> None:
    page = open_page("patches?model=preset:vit_cifar10")
    file = io.BytesIO()
    Image.fromarray(skimage.data.astronaut()).save(file, "JPEG")
    page.get_by_text("Upload", exact=True).click()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": file.getvalue()}
    )
    expect(page).to_have_url(re.compile("image=upload"))
    view = stage(page)
    image = view.locator("canvas").first
    image.hover(position=over(image, 1.5 / 8, 2.5 / 8))
    expect(part(view, "title")).to_have_text("Patch 18 of 64 · row 3, column 2")
    expect(part(view, "place")).to_have_text("pixels x 5–8, y 9–12")
    model, computed = numbers(part(view, "sum").inner_text())[-1], numbers(part(view, "dot").inner_text())[0]
    assert abs(model - computed) <= 1e-4


def test_bars_stay_in_their_room_however_narrow(open_page: OpenPage) -> None:
    """Beside a lesson's panel, or at 150 %: they stand beside the image where they have half the page."""
    page = open_page(DIGIT + "&patches.view=puzzle", width=1120)
    bars = page.locator("[data-component=patches_puzzle] .pt-bars")
    expect(bars.first).to_be_visible()
    page.wait_for_function(
        """() => {
          const view = [...document.querySelectorAll('[data-testid=stMain] *')]
            .find((node) => node.shadowRoot?.querySelector('.pt-bars')).shadowRoot;
          const all = [...view.querySelectorAll('.pt-bars')].filter((box) => !box.hidden);
          const beside = all[0].offsetTop < view.querySelector('figure').offsetTop + 100;
          return beside && all.every((box) => box.querySelector('canvas').clientWidth <= box.clientWidth);
        }"""
    )


def test_what_stands_outside_the_view_follows_its_clicks(open_page: OpenPage) -> None:
    """A click runs the view alone; a step that is chosen just before it travels with it."""
    page = open_page("patches?model=checkpoint:cifar10_vit&patches.patch_px=5")
    notice = page.get_by_text("This link asks for")
    expect(notice).to_contain_text("'5'")
    image = stage(page).locator("canvas").first
    image.click(position=over(image, 0.3, 0.3))
    expect(page).to_have_url(re.compile("pin=0"))
    pin = re.escape(page.url.partition("pin=")[2].partition("&")[0])
    following = page.get_by_role("link", name=re.compile("^Next"))
    expect(following).to_have_attribute("href", re.compile(f"pin={pin}"))
    step = page.locator("[data-testid=stSidebar] input[type=range][aria-label=Step]")
    last = step.get_attribute("aria-valuetext")
    image.hover(position=over(image, 0.7, 0.7))
    step.focus()
    page.keyboard.press("ArrowLeft")  # at once, as one change
    page.mouse.down()
    page.mouse.up()
    expect(following).not_to_have_attribute("href", re.compile(f"pin={pin}"))
    before = (step.get_attribute("aria-valuetext") or "").replace(",", "")
    assert before not in ("", last)
    expect(page).to_have_url(re.compile(rf"step={before}\b"))
    page.locator(".st-key-patches-patch_px").get_by_text("8", exact=True).click()
    expect(notice).to_have_count(0)


def test_the_strip_and_the_image_light_each_other(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = stage(page)
    title, strip = part(view, "title"), view.locator(".pt-scroll canvas")
    expect(title).to_have_text("Patch 37 of 64 · row 5, column 5")
    strip.hover(position=over(strip, 0.02, 0.3))  # it opens at its beginning
    expect(title).to_contain_text("CLS")
    strip.hover(position=over(strip, 0.1, 0.3))
    expect(title).to_have_text(re.compile(r"^Patch (?!37)\d+ of 64 · row \d, column \d$"))
    page.mouse.move(5, 5)
    expect(title).to_have_text("Patch 37 of 64 · row 5, column 5")


def test_a_click_pins_and_choosing_a_filter_keeps_the_number(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = stage(page)
    image, filters = view.locator("canvas").first, view.locator("canvas").last
    image.click(position=over(image, 0.5 / 8, 0.5 / 8))
    expect(page).to_have_url(re.compile(r"pin=0\.06"))
    filters.click(position=over(filters, 100 / 930, 0.1))
    expect(page).to_have_url(re.compile(r"patches\.column=3"))
    expect(part(view, "title")).to_have_text("Patch 1 of 64 · row 1, column 1")
    expect(part(view, "token")).to_contain_text("value 3:")


def test_the_keyboard_walks_pulls_apart_and_pins(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = stage(page)
    image = view.locator("canvas").first
    image.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # the first to the pin
        page.keyboard.press(key)
    expect(part(view, "title")).to_have_text("Patch 46 of 64 · row 6, column 6")
    page.keyboard.press("e")
    expect(view.get_by_role("button", name="Join patches")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("e")
    expect(view.get_by_role("button", name="Separate patches")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"pin=0\.688"))


@pytest.mark.slow
def test_a_patch_glides_and_turns_back_when_asked_midway(open_page: OpenPage) -> None:
    page = open_page(DIGIT, **MOVING)
    view = stage(page)
    page.evaluate(SLOWED, 8)
    view.get_by_role("button", name="Separate patches").click()
    page.wait_for_function(
        "(view) => view.dataset.apart >= 0.2 && view.dataset.apart < 1", arg=view.element_handle()
    )
    view.get_by_role("button", name="Join patches").click()
    expect(view).to_have_attribute("data-apart", "0.00")
    view.get_by_role("button", name="Separate patches").click()
    expect(view).to_have_attribute("data-apart", "1.00")


def test_a_finger_reads_a_patch_on_a_phone(open_page: OpenPage) -> None:
    page = open_page(DIGIT, width=420, has_touch=True, is_mobile=True)
    view = stage(page)
    image = view.locator("canvas").first
    image.tap(position=over(image, 2.5 / 8, 0.5 / 8))
    expect(part(view, "title")).to_have_text("Patch 3 of 64 · row 1, column 3")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_reshape_and_the_sum_follow_the_pointer(open_page: OpenPage) -> None:
    page = open_page(DIGIT + "&patches.view=ways")
    reshape = page.locator("[data-component=patches_reshape]")
    expect(reshape).to_have_attribute("data-ready", "true")
    wrong = reshape.locator("canvas").last
    wrong.hover(position=over(wrong, 1.5 / 8, 0.5 / 8))
    expect(part(reshape, "reshape")).to_contain_text(
        "reshape: 16 consecutive pixels, from row 1, column 17 to row 1, column 32"
    )
    page.get_by_text("The sequence", exact=True).click()
    expect(page).to_have_url(re.compile("patches.view=sequence"))
    sequence = page.locator("[data-component=patches_sequence]")
    total = sequence.locator(".vv-frame").nth(2)
    total.hover(position=over(total, 0.5, 0.5))
    expect(part(sequence, "sequence")).to_contain_text("token 32: patch 32 (row 4, column 8)")
    content, position, result = numbers(part(sequence, "sequence").inner_text().replace("− ", "-"))[-3:]
    assert abs(content + position - result) < 2e-3


@pytest.mark.slow
def test_the_predictions_follow_the_shuffling_without_the_server(open_page: OpenPage) -> None:
    page = open_page(
        "patches?model=checkpoint:digits_vit&image=digits:3&patches.view=puzzle&patches.shuffled=0"
    )
    view = page.locator("[data-component=patches_puzzle]")
    expect(view).to_have_attribute("data-ready", "true")
    sent = frames_sent(page)
    hold_slider(page, "patches-shuffled", 1)
    expect(view).to_have_attribute("data-live", "100")
    bars = view.locator(".pt-bars canvas")
    live = [bar.get_attribute("aria-label") for bar in bars.all()]
    notes = view.locator(".pt-bars .vv-muted").all_inner_texts()
    assert len(live) >= 2 and not sent
    page.mouse.up()
    page.wait_for_url(re.compile(r"patches\.shuffled=100"))
    expect(view).not_to_have_attribute("data-live", "100")
    assert [bar.get_attribute("aria-label") for bar in bars.all()] == live
    assert view.locator(".pt-bars .vv-muted").all_inner_texts()[0] == notes[0]
