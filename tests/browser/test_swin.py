"""The Swin page under a real pointer, a finger and the keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import MOVING, SLOWED, OpenPage, open_view, over
from vitviz.plots.theme import family_colors

pytestmark = pytest.mark.browser
LINK = "swin?model=preset:swin_digits&image=digits:3&pin=0.5,0.5&swin.grid=8&swin.window=4&swin.shift=2"
FIRST = LINK + "&swin.stage=tokens"


def part(view: Locator, role: str) -> Locator:
    return view.locator(f"[data-role={role}]")


def press(view: Locator, name: str) -> None:
    view.get_by_role("button", name=name, exact=True).click()


STAGES = ("tokens", "partition", "roll", "ids", "again", "mask", "attention", "reverse", "unroll")


@pytest.mark.slow
def test_it_steps_forwards_and_back(open_page: OpenPage) -> None:
    page = open_page(FIRST)
    view = open_view(page, "swin_stepper")
    view.get_by_role("button", name="Play").focus()
    for number, stage in enumerate(STAGES[1:], start=1):
        page.keyboard.press("ArrowRight")
        expect(view).to_have_attribute("data-stage", stage)
        expect(view).to_have_attribute("data-at", f"{number}.00")
    for stage in reversed(STAGES[:-1]):
        page.keyboard.press("ArrowLeft")
        expect(view).to_have_attribute("data-stage", stage)


def test_it_opens_whole_on_a_patch_that_the_mask_concerns(open_page: OpenPage) -> None:
    page = open_page("swin?swin.stage=mask", width=1440, height=900)
    view = open_view(page, "swin_stepper")
    expect(view).to_have_attribute("data-at", "5.00")
    expect(part(view, "matrix")).to_contain_text("192 of 256 pairs masked")
    play, card, board = (
        box
        for node in (
            view.get_by_role("button", name="Play"),
            view.locator("[data-stage=mask]"),
            view.locator("canvas"),
        )
        if (box := node.first.bounding_box()) is not None
    )
    assert abs(play["y"] - card["y"]) < 2  # one row
    assert board["y"] < 360 and board["y"] + board["height"] <= 900
    assert board["width"] >= 500


@pytest.mark.slow
def test_every_stage_shows_its_shape(open_page: OpenPage) -> None:
    view = open_view(open_page(LINK, **MOVING), "swin_stepper")
    shapes = {
        "tokens": "(1,8,8,C)",
        "partition": "(4,16,C)",
        "ids": "(8,8)",
        "mask": "(4,16,16)",
        "attention": "(4,h,16,16)",
        "unroll": "(1,8,8,C)",
    }
    for stage, shape in shapes.items():
        view.locator(f"button[data-stage={stage}]").click()
        expect(part(view, "shape")).to_have_text(shape)


@pytest.mark.slow
def test_frames_are_drawn_while_it_moves_and_play_can_be_paused(open_page: OpenPage) -> None:
    page = open_page(FIRST, **MOVING)
    view = open_view(page, "swin_stepper")
    before = int(view.get_attribute("data-frames") or 0)
    page.evaluate(SLOWED, 8)
    press(view, "Play")
    expect(view).to_have_attribute("data-stage", "roll")
    press(view, "Pause")
    held = view.get_attribute("data-at")
    assert int(view.get_attribute("data-frames") or 0) > before + 5
    expect(view.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert view.get_attribute("data-at") == held
    view.locator("[data-stage=roll]").click()
    expect(view).to_have_attribute("data-at", "2.00")
    page.keyboard.press("ArrowRight")  # a second press in mid-air goes one further
    page.keyboard.press("ArrowRight")
    expect(view).to_have_attribute("data-at", "4.00")


@pytest.mark.slow
def test_a_corner_patch_reads_four_and_leaks_twelve(open_page: OpenPage) -> None:
    view = open_view(open_page(FIRST, **MOVING), "swin_stepper")
    stage = view.locator("canvas").first
    stage.hover(position=over(stage, 0.06, 0.08))
    expect(part(view, "title")).to_have_text("Patch 1 · row 1, column 1")
    expect(part(view, "regular")).to_have_text("attends to all 16 patches of its window")
    expect(part(view, "shifted")).to_have_text(
        "attends to 4 of 16 patches; the mask removes 12 from another edge (crossed out)"
    )
    expect(view.get_by_role("button", name="Without the mask")).to_be_hidden()
    view.locator("[data-stage=mask]").click()
    press(view, "Without the mask")
    stage.hover(position=over(stage, 0.81, 0.81))  # after the roll
    expect(part(view, "title")).to_have_text("Patch 1 · row 1, column 1")
    expect(part(view, "shifted")).to_contain_text("attends to 16, 12 of them across the edge")


def test_after_the_roll_the_pointer_finds_what_stands_there_now(open_page: OpenPage) -> None:
    view = open_view(open_page(LINK), "swin_stepper")
    view.locator("[data-stage=mask]").click()
    expect(part(view, "all")).to_have_text("448 pairs of 1,024 masked, in 3 of 4 windows")
    stage = view.locator("canvas").first
    stage.hover(position=over(stage, 0.04, 0.04))
    expect(part(view, "title")).to_have_text("Patch 19 · row 3, column 3")  # 2 down, 2 to the right
    expect(part(view, "place")).to_have_text("after the roll: window 1, slot 1 · region 0")
    stage.hover(position=over(stage, 0.96, 0.96))
    expect(part(view, "title")).to_have_text("Patch 10 · row 2, column 2")
    expect(part(view, "matrix")).to_contain_text("192 of 256 pairs masked")


def test_keys_walk_step_and_pin(open_page: OpenPage) -> None:
    page = open_page(FIRST)
    view = open_view(page, "swin_stepper")
    view.locator("canvas").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(part(view, "title")).to_have_text("Patch 10 · row 2, column 2")
    page.keyboard.press("n")
    expect(view).to_have_attribute("data-stage", "partition")
    page.keyboard.press("b")
    expect(view).to_have_attribute("data-stage", "tokens")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"pin=0\.18"))


def test_a_finger_reads_a_patch_on_a_phone(open_page: OpenPage) -> None:
    page = open_page(FIRST, width=420, has_touch=True, is_mobile=True)
    view = open_view(page, "swin_stepper")
    stage = view.locator("canvas").first
    stage.tap(position=over(stage, 0.06, 0.12))
    expect(part(view, "title")).to_have_text("Patch 1 · row 1, column 1")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    following = view.get_by_role("button", name="Next step: Partition")
    box = following.bounding_box()
    assert box is not None and box["height"] >= 44 and box["width"] >= 44
    following.tap()
    expect(view).to_have_attribute("data-stage", "partition")
    expect(part(view, "finding")).to_have_text(
        "Each token attends to 16 of 64 tokens: 1,024 pairs of query and key instead of 4,096."
    )


@pytest.mark.slow
def test_information_flows_block_by_block(open_page: OpenPage) -> None:
    """Pin in the middle, windows of 4 in a grid of 8: 16, then the window across the middle too, then everything."""
    view = open_view(open_page(LINK + "&swin.view=travel"), "swin_reach")
    expect(view).to_have_attribute("data-reached", "16 16 64 25")
    press(view, "One block forward")
    expect(view).to_have_attribute("data-reached", "36 16 64 64")
    press(view, "One block forward")
    expect(view).to_have_attribute("data-reached", "64 16 64 64")
    press(view, "Patches read")
    press(view, "One block back")
    expect(view).to_have_attribute("data-block", "2")
    expect(view).to_have_attribute("data-reached", "64 16 64 64")
    press(view, "One block back")
    press(view, "One block back")
    expect(view).to_have_attribute("data-reached", "1 1 1 1")
    view.get_by_role("slider", name="Blocks").press("ArrowRight")
    view.page.wait_for_url(re.compile(r"swin\.blocks=1"))
    view.get_by_role("slider", name="Blocks").press("ArrowRight")
    view.page.wait_for_url(re.compile(r"swin\.blocks=2"))
    view.page.reload()
    expect(open_view(view.page, "swin_reach")).to_have_attribute("data-block", "2")


@pytest.mark.slow
def test_an_architecture_keeps_its_colour_without_a_shift(open_page: OpenPage) -> None:
    """The first line, the shifted Swin's, is missing then: each other line had the colour of the one before."""
    view = open_view(open_page(LINK + "&swin.view=travel&swin.shift=0"), "swin_reach")
    expect(view).to_have_attribute("data-reached", "16 64 25")
    pixels = view.locator("canvas").last.evaluate(
        "(node) => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]"
    )
    colours = {"#{:02X}{:02X}{:02X}".format(*pixels[at : at + 3]) for at in range(0, len(pixels), 4)}
    kinds = family_colors(["swin", "swin", "vit", "cnn"])
    assert [kind.upper() in colours for kind in kinds] == [False, True, True, True]


def test_two_tokens_index_into_the_bias_table(open_page: OpenPage) -> None:
    view = open_view(open_page(LINK + "&swin.view=bias"), "swin_bias")
    window, table, matrix = (view.locator(".vv-frame").nth(i) for i in range(3))
    window.click(position=over(window, 1 / 8, 1 / 8))
    window.hover(position=over(window, 7 / 8, 3 / 8))
    expect(part(view, "offset")).to_have_text("q (1, 1) − k (2, 4) = (−1, −3)")
    expect(part(view, "index")).to_have_text("((−1) + 3)·7 + (−3) + 3 = 14")
    expect(part(view, "pairs")).to_contain_text("shared by 3 of 256 pairs")
    table.hover(position=over(table, 0.5, 0.5))
    expect(part(view, "offset")).to_have_text("Offset query − key = (0, 0)")
    expect(part(view, "pairs")).to_contain_text("shared by 16 of 256 pairs")
    table.click(position=over(table, 0.5 / 7, 4.5 / 7))
    expect(part(view, "offset")).to_have_text("q (2, 1) − k (1, 4) = (1, −3)")
    matrix.hover(position=over(matrix, 0.5 / 16, 15.5 / 16))
    expect(part(view, "offset")).to_have_text("q (4, 4) − k (1, 1) = (3, 3)")
    expect(part(view, "index")).to_have_text("(3 + 3)·7 + 3 + 3 = 48")
    head = view.get_by_label("Table of head 2")
    head.hover(position=over(head, 0.5, 0.5))  # its values are not those that are read
    expect(part(view, "index")).to_have_text("(3 + 3)·7 + 3 + 3 = 48")
    head.press("Enter")
    expect(part(view, "value")).to_contain_text("table[48, head 2]")


@pytest.mark.slow
def test_a_click_on_the_pyramid_spells_out_another_merge(open_page: OpenPage) -> None:
    page = open_page(LINK + "&swin.view=merge")
    view = open_view(page, "swin_pyramid")
    expect(part(view, "merge")).to_have_text("Merging into stage 2: token (5, 5) from four tokens")
    second = view.locator("canvas").nth(1)
    second.click(position=over(second, 0.5 / 8, 1.5 / 8))
    expect(part(view, "merge")).to_have_text("Merging into stage 2: token (2, 1) from four tokens")
    expect(page).to_have_url(re.compile(r"pin=0\.06"))
