"""Check the map's view in the browser without a server: layout, animation, keys, opened parts."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Error, Locator, Page, expect

from pages.views.register import encode_address
from tests.browser.conftest import SLOWED, Screens, wait_for
from tests.browser.map_message import (
    BESIDE,
    FILES,
    LAYERS,
    TOKENS,
    answer,
    arrays,
    message,
    open_map,
    opened_part,
    parts,
)
from tests.rows import rows
from vitviz.text import percent

pytestmark = pytest.mark.browser
IMPORT = """async (names) => {
  window.map = {};
  for (const name of names) map[name] = await import(`/pages/start/map_${name}.js`);
}"""
# Of each part of a kind, whether something lies over its tile.
INK = """(kind) => {
  const over = document.querySelector('.mp-over');
  const { left, top } = over.getBoundingClientRect();
  return [...document.querySelectorAll(`[data-part^="${kind}."] canvas`)].map((tile) => {
    const box = tile.getBoundingClientRect();
    const { data } = over.getContext('2d').getImageData(box.left - left, box.top - top, box.width, box.height);
    return data.some((value, i) => i % 4 === 3 && value);
  });
}"""


Opened = Callable[..., Page]


@pytest.fixture
def opened(screens: Screens, site: str) -> Iterator[Opened]:
    """`opened(width=1000)`: a page with the map; `told` are its events, `answer(page)` is the server."""
    pages: list[Page] = []
    problems: list[str] = []

    def note(error: Error) -> None:
        problems.append(str(error))

    def make(width: int = 1000, calm: bool = False) -> Page:
        page = open_map(screens, site, width, calm)
        pages.append(page)
        page.on("pageerror", note)
        return page

    yield make
    for page in pages:
        page.remove_listener("pageerror", note)
    screens.forget()
    assert not problems


def table_texts(page: Page) -> list[list[str]]:
    return page.evaluate("told")


def title_of(page: Page, part_id: str) -> Locator:
    return page.locator(f'[data-part="{part_id}"] .mp-open')


# ------------------------------------------------------------ what it shows


@pytest.mark.parametrize("width", rows([1500, 860, 390, 360], (1500, 390).__contains__))
def test_every_part_stands_on_the_screen_and_nothing_leaves_its_width(opened: Opened, width: int) -> None:
    page = opened(width)
    ids = page.locator("[data-part]").evaluate_all("(all) => all.map((node) => node.dataset.part)")
    assert ids == [one["id"] for one in parts()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.locator(".mp-tile").evaluate_all(
        "(all) => all.map((n) => { const b = n.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; })"
    )
    assert all(left >= 0 and right <= width + 0.5 for left, right, _, _ in boxes)
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other_left, other_right, other_top, other_bottom in boxes[:i]:
            across = min(right, other_right) - max(left, other_left)
            along = min(bottom, other_bottom) - max(top, other_top)
            assert min(across, along) <= 1, "two tiles lie over each other"
    # In the order of the data: down on a phone, to the right in each line of a wide screen.
    if width < 640:
        assert [box[2] for box in boxes] == sorted(box[2] for box in boxes)
    else:
        assert [box[0] for box in boxes[:5]] == sorted(box[0] for box in boxes[:5])


def test_every_tile_has_an_image(opened: Opened) -> None:
    colours = (
        opened()
        .locator(".mp-tile")
        .evaluate_all(
            """(all) => all.map((node) => {
          const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
          return new Set(new Uint32Array(data.buffer)).size;
        })"""
        )
    )
    assert min(colours) > 3


def test_parts_and_the_whole_are_reported_for_those_who_do_not_see_them(opened: Opened) -> None:
    page = opened()
    expect(page.locator(".mp-summary")).to_have_text(
        "A cat through a model. 11 parts in order: Image, Patches, Embedding E, Prepend [CLS], Positions, Layer 1, "
        "Layer 2, Layer 3, Final LayerNorm, Head, Classes. Prediction: dog (66.5\xa0%)."
    )
    assert (
        title_of(page, "block.2").get_attribute("aria-label") == "Layer 2: Layer 2 in words. Output: 17 by 8."
    )
    expect(page.get_by_role("button", name="E: the matrix")).to_be_visible()


def test_a_term_and_its_part_light_up_together_both_ways(opened: Opened) -> None:
    page = opened()
    page.get_by_role("button", name="E: the matrix").hover()
    expect(page.locator("[data-part=embed].mp-lit")).to_have_count(1)
    page.get_by_role("button", name="MLP: two maps").hover()
    expect(page.locator(".mp-block.mp-lit")).to_have_count(LAYERS)
    expect(page.locator("[data-part=embed].mp-lit")).to_have_count(0)
    title_of(page, "embed").hover()
    expect(page.locator(".mp-term.mp-lit")).to_have_count(1)
    expect(page.locator(".mp-feeds")).to_have_attribute("data-part", "patches")
    expect(page.locator(".mp-fed")).to_have_attribute("data-part", "prefix")


# ------------------------------------------------------------ tokens


def test_a_click_on_a_patch_pins_it_and_a_hover_asks_nobody(opened: Opened) -> None:
    page = opened()
    tile = page.locator("[data-part=patches] canvas")
    box = tile.bounding_box()
    assert box
    tile.hover(position={"x": box["width"] * 0.9, "y": box["height"] * 0.1})
    expect(page.locator(".vv-tip")).to_contain_text("Patch 4 (row 1, column 4)")
    hint = page.locator(".vv-tip").bounding_box()
    assert hint and hint["y"] + hint["height"] <= box["y"]  # above the tile: it covers no patch
    assert table_texts(page) == []
    tile.click(position={"x": box["width"] * 0.9, "y": box["height"] * 0.1})
    assert table_texts(page) == [["pin", "0.8750,0.1250"]]
    page.locator("[data-part=prefix] canvas").click(position={"x": 5, "y": 20})
    assert table_texts(page)[1:] == [["pin", "cls"]]


def test_keys_walk_the_patches_and_pin(opened: Opened) -> None:
    page = opened()
    page.locator("[data-part=patches] canvas").focus()
    page.keyboard.press("ArrowLeft")  # begins at the pinned patch: row 3, column 2
    expect(page.locator(".vv-live").last).to_contain_text("Patch 10")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert table_texts(page) == [["pin", "0.1250,0.6250"]]


# ------------------------------------------------------------ three depths


def test_a_click_opens_a_part_a_second_shows_its_numbers_and_escape_goes_back(opened: Opened) -> None:
    page = opened()
    title_of(page, "block.2").click()
    ((event, request),) = table_texts(page)
    assert event == "open" and request.startswith("block.2 blocks.1.attn[:,0] ")
    panel = page.locator(".mp-panel")
    expect(panel).to_contain_text("Computing this part")
    expect(title_of(page, "block.2")).to_have_attribute("aria-expanded", "true")
    answer(page)
    page.wait_for_function("() => told.length === 2")
    answer(page)  # the keys and values of the head with the largest weight
    expect(panel).to_contain_text("Residual addition")
    page.get_by_role("button", name="Show tables").click()
    expect(panel.get_by_role("table").first).to_contain_text("the patch in row 1, column 1")
    page.keyboard.press("Escape")
    expect(panel.locator(".mp-tables")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert table_texts(page)[2:] == [["open", ""]]
    expect(title_of(page, "block.2")).to_be_focused()


def test_a_part_is_enlarged_over_the_map_and_the_next_takes_its_place(opened: Opened) -> None:
    page = opened()
    height = page.evaluate("document.documentElement.scrollHeight")
    title_of(page, "block.2").click()
    page.wait_for_function("() => !document.querySelector('.mp-panel').getAnimations().length")
    panel, stage = page.locator(".mp-panel").bounding_box(), page.locator(".mp-stage").bounding_box()
    assert panel and stage and panel["width"] == stage["width"] and panel["height"] >= stage["height"] - 1
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing below moves
    late = opened_part("block.2", names=[], subject="cat")
    page.get_by_role("button", name="Open Layer 1").click()
    expect(page.locator(".mp-panel h2")).to_have_text("Layer 1")
    page.evaluate("(bytes) => answer(bytes)", late)  # comes too late: another part is open
    expect(page.locator(".mp-panel")).to_contain_text("Computing this part")
    page.get_by_role("button", name="Open Positions").click()
    page.get_by_role("button", name="Close Positions").click()
    expect(page.locator(".mp-panel")).to_have_count(0)
    expect(title_of(page, "positions")).to_be_focused()


def test_an_opened_part_has_one_link_which_the_server_follows(opened: Opened) -> None:
    page = opened()
    page.evaluate("(bytes) => answer(bytes)", opened_part("embed"))  # a link named it: nobody here asked
    link = page.locator(".mp-panel").get_by_role("link")
    expect(link).to_have_attribute("href", "block?pin=0.5")
    link.click()
    assert table_texts(page)[-1] == ["go", "embed"]


def test_numbers_are_taken_away_as_csv(opened: Opened) -> None:
    page = opened()
    title_of(page, "classes").click()
    answer(page, ["=1+1", 'cat;@SUM(A1), "b"', "-2"])
    page.get_by_role("button", name="Show tables").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download Classes as CSV").click()
    assert download.value.suggested_filename == "classes.csv"
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == ",logit,probability"
    # A name is no formula to a spreadsheet; a number stays one.
    assert [line.rsplit(",", 2)[0] for line in lines[1:]] == ["'=1+1", '"cat;\'@SUM(A1), ""b"""', "-2"]


# ------------------------------------------------------------ the journey


def test_the_journey_plays_pauses_and_ends_with_the_class(opened: Opened) -> None:
    page = opened()
    page.evaluate(SLOWED, 8)
    page.get_by_role("button", name="▶ Play").click()
    expect(page.locator(".mp-said")).to_contain_text("Patch 10 (row 3, column 2) is cut out")
    page.get_by_role("button", name="Pause").click()
    at = page.get_by_role("slider").input_value()
    page.wait_for_timeout(200)
    assert page.get_by_role("slider").input_value() == at
    page.get_by_role("slider").press("End")
    page.get_by_role("slider").press("ArrowLeft")
    page.get_by_role("button", name="▶ Play").click()
    expect(page.locator(".mp-said")).to_have_text("Classes in words.")
    expect(page.locator(".mp-ahead")).to_have_count(0)
    page.get_by_role("button", name="Show whole map").click()
    expect(page.locator(".mp-said")).to_contain_text("Point at a patch")
    assert table_texts(page) == []


def test_the_journey_is_scrubbed_and_stepped_by_keys(opened: Opened) -> None:
    page = opened(calm=True)
    expect(page.get_by_role("button", name="▶ Play")).to_be_hidden()  # motion is refused: stations alone
    slider = page.get_by_role("slider")
    slider.focus()
    for words in (
        "cut out",
        "matrix E",
        "Prepend [CLS] in words",
        "The vector of its position",
    ):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".mp-said")).to_contain_text(words)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mp-said")).to_have_text(
        re.compile(
            r"The query of \[CLS\] matches the key of .+ best; the values add length [\d.]+, the MLP [\d.]+\."
        )
    )
    expect(page.locator(".mp-ahead")).to_have_count(5)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".mp-now")).to_have_attribute("data-part", "positions")
    page.keyboard.press("End")
    expect(page.locator(".mp-now")).to_have_attribute("data-part", "classes")
    page.keyboard.press("Escape")
    expect(page.locator(".mp-said")).to_contain_text("Point at a patch")


def test_the_patch_comes_into_cls_by_its_true_weights(opened: Opened) -> None:
    page = opened(calm=True)
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".mp-now")).to_have_attribute("data-part", "norm")
    given = [(arrays()[f"block.{n}.row"][0][1 + 9] / 65535) ** 2 for n in (1, 2, 3)]  # patch 10 follows [CLS]
    most = int(np.argmax(given))
    expect(page.locator(".mp-said")).to_have_text(
        f"[CLS] attends to patch 10 most in layer {most + 1}: {percent(given[most])} (uniform: 5.9\xa0%)."
    )
    wait_for(page, lambda: page.evaluate(INK, "block"), ([True] * 3).__eq__)  # an arc in every layer
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mp-now")).to_have_attribute("data-part", "head")
    wait_for(page, lambda: page.evaluate(INK, "block"), ([False] * 3).__eq__)


def test_each_layers_map_says_its_largest_weight(opened: Opened) -> None:
    page = opened()
    tops = [(arrays()[f"block.{n}.row"][0][1:].max() / 65535) ** 2 for n in (1, 2, 3)]
    returned = page.locator(".mp-block .mp-open").evaluate_all(
        "(all) => all.map((node) => node.dataset.most)"
    )
    assert returned == [f"max {percent(top, 0)}" for top in tops]


def test_a_new_message_keeps_what_is_open_and_where_the_journey_stands(opened: Opened) -> None:
    page = opened()
    page.evaluate("(bytes) => answer(bytes)", opened_part("embed"))
    page.get_by_role("slider").press("ArrowRight")
    expect(page.locator(".mp-now")).to_have_attribute("data-part", "patches")
    page.evaluate("(bytes) => show(bytes)", message(pin="0.125,0.125"))
    expect(page.locator(".mp-panel")).to_contain_text("Embedding E")
    expect(page.locator(".mp-said")).to_contain_text("Patch 1 (row 1, column 1) is cut out")


# ------------------------------------------------------------ pure functions


@pytest.fixture
def call(opened: Opened) -> Callable[..., Any]:
    page = opened()
    page.evaluate(IMPORT, ["equations", "journey", "layout", "model", "words"])
    return lambda expression: page.evaluate(expression)


def test_what_an_equations_reference_means(call: Callable[..., Any]) -> None:
    asked = [("embed", "embed", ""), ("block.*", "block.2", ""), ("block.*/mlp", "block.2", "mlp")]
    asked += [
        ("block.*/mlp", "block.2", "attention"),
        ("block.*", "merge.2", ""),
        ("block.1", "block.12", ""),
    ]
    found = call(f"{json.dumps(asked)}.map((one) => map.equations.means(...one))")
    assert found == [True, True, True, False, False, False]


def test_a_sequence_is_shown_by_a_few_of_its_tokens(call: Callable[..., Any]) -> None:
    assert call("map.model.sequenceRows(['cls'], [8, 8], 37, 7)") == [0, 1, 2, None, 37, None, 64]
    assert call("map.model.sequenceRows(['cls', 'dist'], [8, 8], 1, 7)") == [0, 1, 2, 3, None, 65]
    assert call("map.model.sequenceRows([], [2, 2], 3, 7)") == [0, 1, 2, 3]


def test_the_map_moves_by_itself_for_six_seconds_however_deep_the_model_is(call: Callable[..., Any]) -> None:
    for depth in (4, 12, 24):
        kinds = [
            "picture",
            "patches",
            "embed",
            "prefix",
            "positions",
            *["block"] * depth,
            "norm",
            "head",
            "classes",
        ]
        times = call(f"map.journey.tourTimes({json.dumps(kinds)})")
        assert 5000 <= sum(times) <= 6000 and min(times[1:]) > 0
    parts_of_map = json.dumps([part | {"layer": 1} for part in parts()])
    returned = call(
        f"{parts_of_map}.map((part) => map.words.tourWords({{ header: {{ family: 'vit', classes: {{ names: ['a'] }} }},"
        " top: 0, arrays: { probabilities: { data: [1] } } }, part))"
    )
    assert all(len(sentence.split()) <= 8 for sentence in returned) and sum(map(bool, returned)) >= 8


def test_blocks_flow_into_lines_that_hold_them(call: Callable[..., Any]) -> None:
    for depth, width, lines in ((6, 600, 1), (12, 700, 1), (24, 700, 2), (48, 500, 6)):
        blocks = json.dumps([{"kind": "block", "id": f"block.{n}"} for n in range(depth)])
        found = call(
            f"(({{ rows, pitch, side }}) => [rows.length, Math.max(...rows.map((row) => row.length)) * pitch, side])"
            f"(map.layout.columns({blocks}, {width}))"
        )
        assert found[0] == lines and found[1] <= width + 1 and found[2] >= 40


def test_the_message_is_read_as_the_contract_says(opened: Opened) -> None:
    page = opened()
    page.evaluate(IMPORT, ["model"])
    found = page.evaluate(
        """async (bytes) => {
          const { open } = await import('/vitviz/browser/kit/blob.js');
          const model = new map.model.MapModel(open(new Uint8Array(bytes)));
          const block = model.byId.get('block.1');
          return [model.keys(block, 3)[1], model.lengths(block, 'cls'), [...model.row(block)].length,
                  model.lengths(model.byId.get('block.3'), 'cls').out, model.top, model.course('cls').rows.length];
        }""",
        message(),
    )
    assert found[0]["key"] == 1 and abs(found[0]["weight"] - 9000 / 65535) < 1e-6
    assert found[1] == {"into": 3, "attention": 2, "mlp": 1.5, "between": 4, "out": 6}
    assert found[2:] == [TOKENS, 12, 1, 2 * LAYERS + 1]


def test_a_messages_address_names_the_maps_files() -> None:
    files = encode_address(BESIDE, *FILES)
    (length,) = struct.unpack("<I", files[:4])
    assert files[4 : 4 + length].decode().split() == [
        "pages/start/map.js",
        "pages/start/map.css",
        "pages/start/map_panel.css",
    ]


COUNTED = """() => {
  window.reads = 0;
  const spied = (owner, name) => {
    const { get, value } = Object.getOwnPropertyDescriptor(owner, name);
    const read = function (...given) { window.reads += 1; return (get ?? value).apply(this, given); };
    Object.defineProperty(owner, name, get ? { get: read } : { value: read });
  };
  spied(Element.prototype, 'getBoundingClientRect');
  for (const name of ['clientWidth', 'clientHeight']) spied(Element.prototype, name);
  for (const name of ['offsetWidth', 'offsetHeight', 'offsetTop']) spied(HTMLElement.prototype, name);
}"""


def test_a_hover_reads_no_layout(opened: Opened) -> None:
    page = opened()
    boxes = {
        name: page.locator(f"[data-part={name}] canvas").bounding_box() for name in ("picture", "positions")
    }

    def over(name: str, across: float, down: float) -> None:
        box = boxes[name]
        assert box
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    over("picture", 0.1, 0.1)  # where the map stands is looked up as the pointer comes
    page.evaluate(COUNTED)
    assert page.evaluate("document.body.clientWidth > 0 && window.reads") == 1, "the spy sees nothing"
    for place in ((0.9, 0.1), (0.9, 0.9), (0.4, 0.6)):
        over("picture", *place)
        over("positions", *place)
    assert page.locator(".vv-tip").is_visible()
    assert page.evaluate("window.reads") == 1


def test_the_hint_stays_inside(opened: Opened) -> None:
    page = opened(390)
    for place in (page.locator("[data-part=picture] canvas"), page.locator("[data-part=patches] canvas")):
        for share in (0.05, 0.95):
            area = place.bounding_box()
            assert area
            place.hover(position={"x": area["width"] * share, "y": area["height"] / 2})
            hint = page.locator(".vv-tip").bounding_box()
            assert hint and hint["x"] >= 0 and hint["x"] + hint["width"] <= 390.5


# Notes what is written on canvases from now on, and by how many px it leaves its canvas.
WRITING = """() => {
  const write = CanvasRenderingContext2D.prototype.fillText;
  window.written = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, e } = this.getTransform();
    const share = { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign];
    const wide = this.measureText(text).width * a, left = x * a + e - share * wide;
    window.written.push([text, Math.max(0, -left, left + wide - this.canvas.width) / a]);
    write.call(this, text, x, y);
  };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1000, 640, 390])
def test_what_is_written_is_whole(opened: Opened, width: int) -> None:
    page = opened(width)
    names = ["automobile", "airplane", "ship"]
    page.evaluate(WRITING)
    classes = {"names": names, "index": [0, 1, 2], "truth": 0}
    page.evaluate("(bytes) => show(bytes)", message(classes=classes, pin="0.875,0.625"))
    page.wait_for_function("() => written.length > 3")
    written = page.evaluate("written")
    assert {"automobile ✓", "airplane", "ship"} <= {text for text, _ in written}
    assert [text for text, beyond in written if beyond > 1 or "…" in text] == []
