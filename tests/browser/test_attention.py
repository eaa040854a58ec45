"""The attention explorer with mouse, touch and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage, frames_sent, settle, take

pytestmark = pytest.mark.browser
DIGIT = "attention?model=preset:vit_digits&image=digits:0&pin=0.5,0.5&attention.layer=4&attention.head=1"


def explorer(page: Page) -> Locator:
    view = page.locator("[data-component=explorer]").first
    expect(view).to_have_attribute("data-ready", "true")
    return view


def cell(stage: Locator, row: int, col: int, side: int = 8) -> dict[str, float]:
    """Return the centre of a patch inside the stage."""
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    return {"x": box["width"] * (col + 0.5) / side, "y": box["height"] * (row + 0.5) / side}


def pixels(canvas: Locator) -> list[int]:
    """Return the pixels of a map, a canvas with one pixel per patch."""
    return canvas.evaluate(
        "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]"
    )


def test_hover_is_the_query_in_every_map_without_the_server(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    sent = frames_sent(page)
    view = explorer(page)
    expect(view.locator(".ax-inspector")).to_contain_text("[CLS]")
    expect(view.locator(".ax-inspector")).not_to_contain_text("prefix")
    stage, cells = view.locator(".ax-stage"), view.locator(".ax-stage canvas.ax-cells")
    before = pixels(cells)
    heads = [pixels(view.locator(".ax-heads canvas").nth(i)) for i in range(4)]
    stage.hover(position=cell(stage, 1, 6))
    expect(view).to_have_attribute("data-query", str(1 + 8 + 6))
    expect(view.locator(".ax-name")).to_contain_text("row 2, column 7")
    assert pixels(cells) != before
    assert [pixels(view.locator(".ax-heads canvas").nth(i)) for i in range(4)] != heads
    # The chosen head's map of the chosen layer stands in both small rows and is one and the same.
    head, layer = view.locator(".ax-heads canvas").nth(0), view.locator(".ax-layers canvas").nth(3)
    assert pixels(head) == pixels(layer)
    page.mouse.move(5, 5)
    expect(view).to_have_attribute("data-query", str(1 + 4 * 8 + 4))
    assert pixels(cells) == before
    assert "pin=0.500%2C0.500" in page.url and not sent


def test_arrow_keys_move_the_query_and_enter_pins_it(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = explorer(page)
    stage = view.locator(".ax-stage")
    stage.focus()
    stage.press("ArrowRight")
    stage.press("ArrowDown")
    # The first arrow went to the pin, or beside it if the focus had gone there.
    expect(view).to_have_attribute("data-query", re.compile(r"^(45|46)$"))
    query = view.get_attribute("data-query")
    expect(view.locator(".vv-live")).to_contain_text(re.compile(r"patch \d+ .* patch \d+ .* 0\.\d+"))
    stage.press("Enter")
    expect(page).not_to_have_url(re.compile(r"pin=0\.500%2C0\.500"))
    expect(view).to_have_attribute("data-query", str(query))


@pytest.mark.slow
def test_a_click_pins_and_the_pin_survives_layer_head_and_page(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = explorer(page)
    stage = view.locator(".ax-stage")
    stage.click(position=cell(stage, 2, 5))
    expect(page).to_have_url(re.compile(r"pin=0\.68[78]%2C0\.31[23]"))
    page.mouse.move(5, 5)
    query = str(1 + 2 * 8 + 5)
    expect(view).to_have_attribute("data-query", query)
    view.locator(".ax-layers button").nth(1).click()
    expect(view).to_have_attribute("data-layer", "2")
    view.locator(".ax-heads button").nth(2).click()
    expect(view).to_have_attribute("data-head", "3")
    page.mouse.move(5, 5)
    expect(view).to_have_attribute("data-query", query)
    expect(page).to_have_url(re.compile(r"attention\.head=3"))
    expect(page).to_have_url(re.compile(r"attention\.layer=2"))
    page.goto(page.url.replace("/attention?", "/block?"))
    expect(page.locator('[data-testid="stMain"]')).to_contain_text("Token: patch in row 3, column 6")


@pytest.mark.slow
def test_a_pin_brings_its_caption_its_links_and_its_numbers(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(DIGIT)
    stage = explorer(page).locator(".ax-stage")
    drawer = page.get_by_text("The numbers", exact=True)
    button = page.get_by_role("button", name="Weights, CSV")

    def weights() -> str:
        settle(page)
        file = take(page, "Weights, CSV")
        assert re.fullmatch(r"attention_layer\d_from_0\.csv", file.suggested_filename)
        file.save_as(tmp_path / "weights.csv")
        return (tmp_path / "weights.csv").read_text()

    def pin(row: int, col: int) -> None:
        stage.click(position=cell(stage, row, col))
        expect(page.get_by_text(f"the patch in row {row + 1}, column {col + 1} puts")).to_be_visible()

    drawer.click()
    found = [weights()]
    assert found[0].startswith("token (from 0),position (from 0),head 0,")
    assert "\n0,cls," in found[0]
    pin(1, 6)
    link = page.get_by_role("link", name="Follow this token through the block")
    expect(link).to_have_attribute("href", re.compile(r"pin=0\.81\d%2C0\.18\d"))
    found.append(weights())  # of an open drawer
    drawer.click()
    expect(button).to_be_hidden()
    pin(5, 2)
    expect(link).to_have_attribute("href", re.compile(r"pin=0\.31\d%2C0\.68\d"))
    drawer.click()
    found.append(weights())  # of one that is opened afterwards
    assert len(set(found)) == 3


def test_prefix_tokens_are_queries_with_their_share(open_page: OpenPage) -> None:
    page = open_page("attention?model=preset:deit_digits&image=digits:0&pin=0.5,0.5")
    view = explorer(page)
    tokens = view.locator("[data-token]")
    expect(tokens).to_have_count(2)
    for i in range(2):
        expect(tokens.nth(i)).to_contain_text(re.compile(r"\d+(\.\d)? %"))
    tokens.nth(1).hover()
    expect(view).to_have_attribute("data-query", "1")
    tokens.nth(0).click()
    expect(page).to_have_url(re.compile("pin=cls"))
    expect(tokens.nth(0)).to_have_attribute("aria-pressed", "true")


def test_a_finger_pins_on_a_phone(open_page: OpenPage) -> None:
    page = open_page(DIGIT, width=390, height=844, has_touch=True, is_mobile=True)
    view = explorer(page)
    stage = view.locator(".ax-stage")
    stage.tap(position=cell(stage, 6, 1))
    expect(view).to_have_attribute("data-query", str(1 + 6 * 8 + 1))
    expect(page).to_have_url(re.compile(r"pin=0\.18[78]%2C0\.81[23]"))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_column_is_another_image_than_the_row(open_page: OpenPage) -> None:
    page = open_page(DIGIT)
    view = explorer(page)
    row = pixels(view.locator(".ax-stage canvas.ax-cells"))
    page.get_by_role("button", name="Options").click()
    page.get_by_role("radio", name="attended by").click()
    expect(view.locator(".ax-inspector")).to_contain_text("Σ_q A[q, 37]")
    assert pixels(view.locator(".ax-stage canvas.ax-cells")) != row


def test_two_explorers_follow_one_pointer(open_page: OpenPage) -> None:
    page = open_page(
        "attention?model=preset:vit_digits&image=digits:0&attention.view=compare&attention.beside=model"
        "&attention.beside_model=preset:vit_shapes"
    )
    both = page.locator("[data-component=explorer]")
    expect(both).to_have_count(2)
    stage = both.nth(0).locator(".ax-stage")
    stage.hover(position=cell(stage, 5, 2))
    for i in range(2):
        expect(both.nth(i)).to_have_attribute("data-query", str(1 + 5 * 8 + 2))


def test_the_block_page_says_each_value_and_a_key_becomes_the_token(open_page: OpenPage) -> None:
    page = open_page("block?model=preset:vit_digits&image=digits:0&pin=cls")
    view = page.locator("[data-component=block_view]")
    expect(view).to_have_attribute("data-steps", "13")
    view.locator(".bl-strip canvas").first.hover()
    expect(view.locator(".vv-tip")).to_contain_text(re.compile(r"channel \d+ of 64: −?\d"))
    frame = view.locator("[data-step=Softmax] .vv-frame").first
    frame.click(position=cell(frame, 7, 0))
    expect(page).to_have_url(re.compile(r"pin=0\.06[23]%2C0\.93[78]"))
    expect(page.locator('[data-testid="stMain"]')).to_contain_text("Token: patch in row 8, column 1")


@pytest.mark.slow
def test_what_is_shown_can_be_taken_along(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(DIGIT)
    page.get_by_text("The numbers", exact=True).click()
    for label, kind in (("View, PNG", "PNG"), ("All heads, PNG", "PNG"), ("Through layers, WebP", "WEBP")):
        taken = take(page, label)
        file = tmp_path / taken.suggested_filename
        taken.save_as(file)
        with Image.open(file) as image:
            assert image.format == kind and image.width > 500


CAT = "attention?model=preset:vit_shapes&image=sample:cat&pin=cls"


@pytest.mark.slow
def test_a_photograph_is_sharp_on_a_screen_of_two_pixels_to_one(open_page: OpenPage) -> None:
    page = open_page(CAT + "&attention.seen=0", device_scale_factor=2)
    view = explorer(page)
    expect(view).to_have_attribute("data-photo", "300x300")
    base = view.locator("canvas.ax-base")
    assert base.evaluate("node => [node.width, node.height]") == [300, 300]  # the photograph has no more
    # half of its colour, below an overlay
    assert base.evaluate("node => getComputedStyle(node).filter") == "saturate(0.5)"
    colours = base.evaluate(
        "node => { const p = node.getContext('2d').getImageData(150, 150, 1, 1).data; return [p[0], p[1], p[2]]; }"
    )
    assert max(colours) - min(colours) > 4, colours
    seen = open_page(CAT)
    view = explorer(seen)
    expect(view.locator(".ax-predicted")).to_have_text(re.compile(r"^Prediction: \w+ \([\d.]+ %\), "))
    assert view.locator(".ax-predicted").bounding_box()["y"] < 400
    expect(view).to_have_attribute("data-photo", "32x32")
    expect(view).to_have_attribute("data-pixelated", "true")


@pytest.mark.slow
def test_arrow_keys_begin_at_the_pin_in_a_grid_of_maps(open_page: OpenPage) -> None:
    maps = open_page(DIGIT + "&attention.view=methods").locator("[data-component=heat_grid]")
    expect(maps).to_have_attribute("data-ready", "true")
    frame = maps.locator(".vv-frame").first
    frame.focus()
    frame.press("ArrowRight")
    expect(maps.locator(".vv-live")).to_contain_text("Row 5, column 5")


def test_the_table_of_areas_goes_over_no_edge(open_page: Callable[..., Page]) -> None:
    page = open_page(
        "attention?model=preset:vit_digits&image=digits:0&attention.view=truth", width=853, height=533
    )
    table = page.locator('[data-testid="stMain"] table').first
    expect(table).to_contain_text("Rollout")
    assert page.locator('[data-testid="stMain"]').evaluate("main => main.scrollWidth - main.clientWidth") <= 1
    box = table.bounding_box()
    assert box is not None and box["x"] + box["width"] <= 853
