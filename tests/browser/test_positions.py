"""The similarity mosaic and the table under a real pointer, a finger and the keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenPage, frames_sent, open_view
from vitviz.analysis import position_similarity
from vitviz.growth import find_growth, load_growth

pytestmark = pytest.mark.browser
MOSAIC = (
    "positions?model=preset:vit_digits&image=digits:3&pin=0.5,0.5"
    "&positions.left=sincos_1d&positions.right=sincos_2d_concat"
)
HEADINGS, GUTTER = 18, 2


def tile_place(canvas: Locator, grid: int, row: int, col: int, key: tuple[float, float]) -> dict[str, float]:
    """Where in a mosaic the cell at `key` (x, y in [0, 1]) of tile (row, col) lies, in CSS pixels."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    tile = (box["width"] - HEADINGS - GUTTER * (grid - 1)) / grid
    return {
        "x": HEADINGS + col * (tile + GUTTER) + key[0] * tile,
        "y": HEADINGS + row * (tile + GUTTER) + key[1] * tile,
    }


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))]


def test_hover_lights_a_pair_and_tells_both_similarities(open_page: OpenPage) -> None:
    page = open_page(MOSAIC)
    stage = open_view(page, "similarity_view")
    first = stage.locator("canvas.sim-map").nth(0)
    first.hover(position=tile_place(first, 8, 2, 3, (3.5 / 8, 4.5 / 8)))  # from 1: (3, 4) and (5, 4)
    read = stage.locator(".sim-read")
    expect(read).to_contain_text("(3, 4) and (5, 4): 2 patches apart")
    shown = numbers(" ".join(read.locator(".sim-big").all_text_contents()))
    expected = [
        position_similarity.cosine_similarity(position_similarity.encode(kind, (8, 8), 64))[19, 35]
        for kind in ("sincos_1d", "sincos_2d_concat")
    ]
    assert shown == pytest.approx(expected, abs=0.006)
    expect(stage.locator(".sim-title").last).to_have_text("Position (3, 4), enlarged")


@pytest.mark.slow
def test_hover_asks_the_server_nothing_and_a_click_pins(open_page: OpenPage) -> None:
    page = open_page(MOSAIC)
    sent = frames_sent(page)
    stage = open_view(page, "similarity_view")
    second = stage.locator("canvas.sim-map").nth(1)
    for col in range(8):
        second.hover(position=tile_place(second, 8, 1, col, (0.5, 0.5)))
        expect(stage.locator(".sim-title").last).to_have_text(f"Position (2, {col + 1}), enlarged")
    assert not sent
    expect(page).to_have_url(re.compile(r"pin=0.5"))
    second.click(position=tile_place(second, 8, 1, 6, (0.5, 0.5)))
    expect(page).to_have_url(re.compile(r"pin=0\.812(,|%2C)0\.188"))
    expect(stage.locator(".sim-title").last).to_have_text("Position (2, 7), enlarged")


def test_the_keyboard_moves_over_tiles_and_cells(open_page: OpenPage) -> None:
    page = open_page(MOSAIC)
    stage = open_view(page, "similarity_view")
    first = stage.locator("canvas.sim-map").nth(0)
    first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # the first to the pin
        first.press(key)
    expect(stage.locator(".sim-title").last).to_have_text("Position (6, 6), enlarged")
    expect(stage.locator(".vv-live")).to_contain_text("(6, 6)")


def test_a_finger_reads_a_cell_and_nothing_is_too_wide(open_page: OpenPage) -> None:
    page = open_page(MOSAIC, width=420, has_touch=True)
    stage = open_view(page, "similarity_view")
    first = stage.locator("canvas.sim-map").nth(0)
    first.tap(position=tile_place(first, 8, 0, 2, (0.5, 0.5)))
    expect(stage.locator(".sim-title").last).to_have_text("Position (1, 3), enlarged")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_tables_formula_has_the_hovered_cells_numbers(open_page: OpenPage) -> None:
    page = open_page(
        "positions?model=preset:vit_digits&image=digits:3&positions.view=table&positions.encoding=sincos_1d"
    )
    stage = open_view(page, "table_view")
    heat = stage.locator("canvas.pt-map")
    heat.focus()
    heat.press("ArrowRight")  # to the pinned position
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        heat.press(key)
    expect(stage.locator(".pt-head")).to_have_text("Position 38, dimension 6 (p = 37, k = 5)")
    expect(stage.locator(".pt-formula")).to_contain_text("cos(37 / 10000^(4/64))")
    value = position_similarity.encode("sincos_1d", (8, 8), 64)[37, 5]
    assert numbers(stage.locator(".pt-formula").text_content() or "")[-1] == pytest.approx(value, abs=1e-3)


@pytest.mark.slow
def test_play_passes_between_the_stored_steps_and_ends_on_the_last(open_page: OpenPage) -> None:
    """The step in words is the place's own, and the maps are mixed from those of the steps around it."""
    page = open_page(
        "positions?model=checkpoint:digits_vit&positions.left=model&positions.right=nothing",
        reduced_motion="no-preference",
    )
    stage = open_view(page, "similarity_view")
    seen = stage.evaluate(
        """node => new Promise((resolve) => {
          const words = node.querySelector('.sim-time span');
          const seen = [];
          new MutationObserver(() => {
            seen.push(words.textContent);
            if (/2,429/.test(words.textContent)) resolve(seen);
          }).observe(words, { childList: true, characterData: true, subtree: true });
          node.querySelector('.sim-time button').click();
        })"""
    )
    steps = [int(re.match(r"step ([\d,]+)", words)[1].replace(",", "")) for words in seen]
    assert steps == sorted(steps) and steps[-1] == 2429
    stored = load_growth(find_growth("digits_vit")).steps.tolist()
    assert set(steps) - set(stored), "steps between the stored ones are shown"
