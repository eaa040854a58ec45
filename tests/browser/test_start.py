"""Check the start page on a real server: animation, opened layer and tables, by pointer, keys and on a phone."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence

import pytest
import torch
from playwright.sync_api import Locator, Page, Position, expect

from pages.stores import shared_cache
from tests.browser.conftest import MOVING, ROOT, SLOWED, OpenPage, frames_sent, settle
from tests.rows import rows
from vitviz.checkpoints import open_model
from vitviz.data.image_preprocessing import prepare
from vitviz.text import percent

pytestmark = pytest.mark.browser


def opener(page: Page, part: str) -> Locator:
    return page.locator(f'[data-part="{part}"] .mp-open')


def opened_to_its_numbers(page: Page) -> None:
    """The panel of layer 2, with one softmax row and, at the third depth, its tables."""
    panel = page.locator(".mp-panel")
    expect(panel).to_contain_text("Softmax row", timeout=60_000)  # the first answer loads torch
    expect(panel).to_contain_text("Residual addition")
    page.wait_for_function("() => location.search.includes('home.part=block.2')")


@pytest.mark.slow
def test_the_journey_plays_and_a_layer_opens_to_its_numbers(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits", **MOVING)
    expect(page.locator(".mp-part")).to_have_count(12)
    page.evaluate(SLOWED, 8)
    page.get_by_role("button", name="▶ Play").click()
    expect(page.locator(".mp-said")).to_contain_text("is cut out")
    page.get_by_role("button", name="Pause").click()
    opener(page, "block.2").click()
    opened_to_its_numbers(page)
    page.get_by_role("button", name="Show tables").click()
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(r"Download Keys, head \d as CSV")).click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("position (from 0),") and len(lines) == 1 + 1 + 64
    assert any(line.startswith('"the patch in row 0, column 7",') for line in lines)
    assert not any("row 8" in line or "column 8" in line for line in lines)
    page.locator(".mp-panel").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Inside a block", level=1)).to_be_visible()
    page.wait_for_function("() => location.search.includes('block.layer=2')")


@pytest.mark.slow
def test_the_same_with_keys_alone(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits", **MOVING)
    page.evaluate(SLOWED, 8)
    page.get_by_role("button", name="▶ Play").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".mp-said")).to_contain_text("is cut out")
    page.keyboard.press("Escape")
    opener(page, "block.2").focus()
    page.keyboard.press("Enter")
    opened_to_its_numbers(page)
    button = page.get_by_role("button", name="Show tables")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".mp-panel")).to_have_count(0)
    page.wait_for_function("() => !location.search.includes('home.part')")


@pytest.mark.slow
def test_back_closes_the_open_part(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits")
    for part in ("block.2", "picture"):
        opener(page, part).click(position={"x": 30, "y": 8})
        expect(page.locator(".mp-panel")).to_be_visible()
        page.wait_for_function(f"() => location.search.includes('home.part={part}')")
        settle(page)
        page.evaluate("history.back()")
        expect(page.locator(".mp-panel")).to_have_count(0)
        settle(page)
        assert "home.part" not in page.url and page.get_by_role("heading", level=1).is_visible()


def test_on_a_phone_it_runs_from_top_to_bottom(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits", width=390, height=844)
    tops = [opener(page, part).bounding_box()["y"] for part in ("picture", "embed", "block.1", "head")]
    assert tops == sorted(tops)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")
    opener(page, "block.2").click()
    opened_to_its_numbers(page)
    page.get_by_role("button", name="Show tables").click()
    expect(page.locator(".mp-panel").get_by_role("table").last).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth + 1")


@pytest.mark.slow
def test_a_link_opens_its_part_and_a_pin_stays_with_it(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits&home.part=positions&pin=0.900,0.100")
    panel = page.locator(".mp-panel")
    expect(panel).to_contain_text("row 1, column 8", timeout=60_000)
    page.get_by_role("button", name="Close Positions").click()
    tile = page.locator("[data-part=patches] canvas")
    box = tile.bounding_box()
    tile.click(position={"x": box["width"] / 16, "y": box["height"] / 16})
    opener(page, "positions").click(position={"x": 30, "y": 8})
    expect(panel).to_contain_text("row 1, column 1")
    settle(page)
    link = panel.get_by_role("link").get_attribute("href")
    assert re.search(r"pin=0\.06[23],0\.06[23]", urllib.parse.unquote(link or ""))


def test_e_opened_on_cls_is_titled_by_its_patch(open_page: OpenPage) -> None:
    page = open_page("?model=preset:vit_digits&home.part=embed&pin=cls")
    head = page.locator(".mp-panel .mp-head")
    expect(head).to_contain_text("the patch in row")
    expect(head).not_to_contain_text("CLS")


def test_a_linked_layer_shows_its_attention_over_the_image(open_page: OpenPage) -> None:
    """The link opens the layer before the image has come: it stayed on the bare page."""
    page = open_page("?model=preset:vit_digits&image=digits:3&home.part=block.1")
    expect(page.locator(".mp-panel")).to_contain_text("Softmax row", timeout=60_000)
    page.wait_for_function(
        """() => {
          const find = (root) => root.querySelector('.mp-panel .mp-large canvas')
            ?? [...root.querySelectorAll('*')].map((node) => node.shadowRoot && find(node.shadowRoot)).find(Boolean);
          const node = find(document);
          if (!node) return false;
          const { data } = node.getContext('2d').getImageData(0, 0, node.width, node.height);
          let opaque = 0;
          for (let at = 3; at < data.length; at += 4) opaque += data[at] === 255;
          return opaque > 0.7 * node.width * node.height;
        }""",
    )


# ------------------------------------------------------------ drawing

BEST = """(root) => root.querySelector('.mp-summary').textContent.match(/Prediction: (.+?) /)[1]"""


def the_map(page: Page) -> Locator:
    return page.locator('.vv[data-component="map"][data-photo]')


def draw(page: Page, *places: tuple[float, float], touch: bool = False) -> None:
    """Draw one stroke through places on the pad, in shares of its side."""
    box = page.locator("[data-part=picture] canvas").bounding_box()
    assert box
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
    if touch:
        session = page.context.new_cdp_session(page)
        for i, (x, y) in enumerate(at):
            kind = "touchMove" if i else "touchStart"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        return
    page.mouse.move(*at[0])
    page.mouse.down()
    for x, y in at[1:]:
        page.mouse.move(x, y, steps=4)
    page.mouse.up()


def drawn(page: Page, strokes: int) -> str:
    """Wait until the map shows a drawing of so many strokes; return them."""
    root = the_map(page)
    page.wait_for_function(
        "([root, count]) => root.dataset.drawing.split('.').filter(Boolean).length === count",
        arg=[root.element_handle(), strokes],
        timeout=60_000,
    )
    return root.get_attribute("data-drawing") or ""


def test_keys_draw_undo_and_clear(open_page: OpenPage) -> None:
    page = open_page("")
    the_map(page).wait_for()
    pad = page.locator("[data-part=picture] canvas")
    pad.focus()
    page.keyboard.press("Delete")
    drawn(page, 0)
    for _ in range(15):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    drawn(page, 1)
    assert the_map(page).evaluate(BEST) == "1"
    page.keyboard.press("Backspace")
    drawn(page, 0)


def test_a_finger_draws_on_the_pad_and_scrolls_beside_it(open_page: OpenPage) -> None:
    page = open_page("", width=390, height=844, has_touch=True)
    the_map(page).wait_for()
    pad = page.locator("[data-part=picture] canvas")
    box = pad.bounding_box()
    assert box and box["y"] + box["height"] < 844  # on the first screen of a phone
    assert pad.evaluate("(node) => getComputedStyle(node).touchAction") == "none"
    assert page.locator(".mp-stage").evaluate("(node) => getComputedStyle(node).touchAction") != "none"
    draw(page, (0.3, 0.2), (0.35, 0.25), (0.4, 0.3), touch=True)
    drawn(page, 2)
    page.get_by_role("button", name="Inspect").click()
    assert pad.evaluate("(node) => getComputedStyle(node).touchAction") != "none"


@pytest.mark.slow
def test_the_map_moves_by_itself_once_and_any_touch_stops_it(open_page: OpenPage) -> None:
    page = open_page("words", locale="en-GB", **MOVING)
    page.add_init_script(  # its first time lasts longer
        f"if (location.protocol === 'http:' && !localStorage.getItem('vitviz.map.moved')) ({SLOWED})(6)"
    )
    page.goto(page.url.partition("/words")[0])
    settle(page)
    expect(page.locator(".mp-said")).not_to_contain_text("Point at a patch")
    page.mouse.click(700, 20)
    expect(page.locator(".mp-said")).to_contain_text("Point at a patch")
    page.goto(page.url.partition("?")[0])
    settle(page)
    the_map(page).wait_for()
    page.wait_for_timeout(2500)
    expect(page.locator(".mp-said")).to_contain_text("Point at a patch")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", "?model=checkpoint:mnist_vit"])
def test_it_never_moves_for_who_wants_calm_or_follows_a_permalink(open_page: OpenPage, address: str) -> None:
    page = open_page(address, **({} if not address else MOVING))
    the_map(page).wait_for()
    page.wait_for_timeout(2500)
    expect(page.locator(".mp-said")).to_contain_text("Point at a patch")


@pytest.mark.slow
def test_inspect_shows_the_square_that_the_model_sees_and_pins(open_page: OpenPage) -> None:
    page = open_page("")
    the_map(page).wait_for()
    pad = page.locator("[data-part=picture] canvas")
    pad.hover(position={"x": 60, "y": 60})
    expect(page.locator(".vv-tip")).to_be_hidden()  # the pen speaks of no patch
    page.get_by_role("button", name="Inspect").click()
    pad.click(position={"x": 8, "y": 8})
    page.wait_for_function("() => location.search.includes('pin=0.07')")


# ------------------------------------------------------------ the map follows the pen

NUMBERS = """(root) => [
  root.querySelector('.mp-summary').textContent.match(/Prediction: (.+)/)[1],
  ...[...root.querySelectorAll('.mp-block .mp-words, .mp-classes .mp-words')].map((node) => node.textContent),
]"""
KEEP_TILES = """(root) => (window.tiles = [...root.querySelectorAll('.mp-tile')].map((node) =>
  node.getContext('2d').getImageData(0, 0, node.width, node.height).data))"""
TILE_DIFFERENCES = f"""(root) => {{
  const before = window.tiles;
  return ({KEEP_TILES})(root).map((data, tile) => data.length === before[tile].length
    ? data.reduce((sum, value, i) => sum + Math.abs(value - before[tile][i]), 0) / data.length : Infinity);
}}"""
LIVE = "([root]) => root.dataset.live?.length > 0 && root.dataset.live === root.dataset.strokes"
CAPTION = "[data-pending] ~ * [data-testid=stCaptionContainer]"


def ready_to_follow(session: OpenPage, **kind: object) -> Page:
    """Start with an empty pad, after the model's weights have arrived."""
    page = session("", **kind)
    expect(the_map(page)).to_have_attribute("data-follows", "")
    page.get_by_role("button", name="Clear").click()
    drawn(page, 0)
    expect(page.locator("[data-pending]")).to_have_count(0)
    return page


def press_and_move(page: Page, *places: tuple[float, float]) -> None:
    """Draw without lifting the pen, and wait until the map shows the whole line."""
    box = page.locator("[data-part=picture] canvas").bounding_box()
    assert box
    for i, (x, y) in enumerate(places):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=6 if i else 1)
        if not i:
            page.mouse.down()
    page.wait_for_function(LIVE, arg=[the_map(page).element_handle()])


@pytest.mark.slow
def test_the_map_follows_the_pen_without_a_message_and_dims_what_the_server_wrote(
    open_page: OpenPage,
) -> None:
    page = ready_to_follow(open_page)
    sent = frames_sent(page)
    root = the_map(page)
    expect(root).to_have_attribute("data-follows", "")
    press_and_move(page, (0.3, 0.2), (0.7, 0.2), (0.4, 0.85))
    expect(root.locator(".mp-summary")).to_contain_text("Prediction: 7")
    assert not sent and root.get_attribute("data-drawing") == ""
    expect(page.locator(CAPTION).first).to_have_css("opacity", "0.4")
    page.mouse.up()
    drawn(page, 1)
    expect(page.locator("[data-pending]")).to_have_count(0)
    assert sent and root.evaluate(BEST) == "7"


@pytest.mark.slow
@pytest.mark.parametrize("width", rows([390, 1400], (1400).__eq__))
def test_the_lifted_pens_map_is_the_servers(open_page: OpenPage, width: int) -> None:
    """Numbers and tiles that the engine wrote while the server was away are the server's, once it answers."""
    page = ready_to_follow(open_page, width=width)
    root = the_map(page)
    page.context.set_offline(True)
    press_and_move(page, (0.3, 0.2), (0.7, 0.2), (0.4, 0.85))
    page.mouse.up()  # simplifies the strokes
    page.wait_for_function(LIVE, arg=[root.element_handle()])
    live = root.evaluate(NUMBERS)
    root.evaluate(f"(root) => {{ ({KEEP_TILES})(root); }}")
    assert root.get_attribute("data-drawing") == ""
    page.context.set_offline(False)
    assert drawn(page, 1) == root.get_attribute("data-live")
    expect(page.locator("[data-pending]")).to_have_count(0)
    page.mouse.move(1, 1)
    settle(page)
    for engine, server in zip(live, root.evaluate(NUMBERS), strict=True):
        assert re.sub(r"[\d.]+", "", engine.replace("\N{MINUS SIGN}", "")) == re.sub(r"[\d.]+", "", server)
        numbers = [[float(number) for number in re.findall(r"\d+\.\d+", text)] for text in (engine, server)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.2)
    assert width > 400 or len(live) > 12
    parts = root.locator(".mp-part").evaluate_all("(nodes) => nodes.map((node) => node.dataset.part)")
    differences = dict(zip(parts, root.evaluate(TILE_DIFFERENCES), strict=True))
    del differences["embed"]  # the server selects filters for each image; while drawing, the ones before stay
    if width > 400:
        assert all(difference < 2 for difference in differences.values()), differences


@pytest.mark.slow
def test_without_a_worker_the_server_answers_and_the_classes_are_dimmed_until_then(
    open_page: OpenPage,
) -> None:
    # A context of its own, because a tab keeps its scripts for the tests that follow.
    page = open_page("", locale="en-GB")
    page.add_init_script("delete window.Worker")
    page.reload()
    settle(page)
    root = the_map(page)
    page.get_by_role("button", name="Clear").click()
    drawn(page, 0)
    box = page.locator("[data-part=picture] canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.12 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.88 * box["height"], steps=6)
    expect(page.locator(".mp-classes")).to_have_css("opacity", "0.4")
    page.mouse.up()
    drawn(page, 1)
    assert root.get_attribute("data-live") is None and root.evaluate(BEST) == "1"
    expect(page.locator(".mp-classes")).to_have_css("opacity", "1")


def patch_of(tile: Locator, row: int, column: int) -> Position:
    """The centre of a patch of an 8 x 8 grid."""
    box = tile.bounding_box()
    assert box
    return {"x": (column + 0.5) / 8 * box["width"], "y": (row + 0.5) / 8 * box["height"]}


def predict_masked(patches: Sequence[int], heads: Sequence[tuple[int, int]]) -> str:
    """The most probable class of the sixth digit, as torch computes it without these patches and heads."""
    model = open_model(ROOT / "checkpoints" / "digits_vit.safetensors")
    values = torch.tensor(prepare(shared_cache.load_image("digits:5"), model.preparation).input)[None]
    token_mask, head_mask = torch.ones(64, dtype=torch.bool), torch.ones(4, 4)
    token_mask[list(patches)] = False
    for layer, head in heads:
        head_mask[layer, head] = 0.0
    with torch.inference_mode():
        shares = model.vit(values, token_mask=token_mask, head_mask=head_mask).softmax(-1)[0]
    return f"Prediction: {model.classes[int(shares.argmax())]} ({percent(float(shares.max()))})"


@pytest.mark.slow
def test_masked_patches_and_a_zeroed_head_change_the_classes_as_in_torch(open_page: OpenPage) -> None:
    page = open_page("?model=checkpoint:digits_vit&image=digits:5")
    page.wait_for_load_state("networkidle")
    page.get_by_role("button", name="Mask patches").click()
    patches = page.locator("[data-part=patches] .mp-tile")
    masked = [8 * row + column for row in (2, 3) for column in (3, 4)]
    for patch in masked:
        patches.click(position=patch_of(patches, *divmod(patch, 8)))
    status = page.locator(".mp-masked")
    expect(the_map(page)).to_have_attribute("data-masks", "0000181800000000", timeout=60_000)
    expect(status).to_contain_text(f"4 of 64 patches masked. {predict_masked(masked, [])}; without masks: ")
    expect(status).to_contain_text(predict_masked([], []).removeprefix("Prediction: "))
    page.wait_for_function("() => location.search.includes('home.mask=0000181800000000')")
    opener(page, "block.2").click()
    page.locator(".mp-heads button").nth(3).click(timeout=60_000)
    page.get_by_role("button", name="Zero out head 4").click(timeout=60_000)
    words = f"4 of 64 patches masked, 1 of 16 heads zeroed out. {predict_masked(masked, [(1, 3)])}"
    expect(status).to_contain_text(words)
    page.wait_for_function("() => location.search.includes('home.mask=0000181800000000.0100')")
    page.reload()
    expect(status).to_contain_text(words, timeout=60_000)
    page.get_by_role("button", name="Restore all").click()
    expect(status).to_be_hidden()
    page.wait_for_function("() => !location.search.includes('home.mask')")


def test_a_model_that_runs_on_the_server_says_why_no_patch_is_masked(open_page: OpenPage) -> None:
    page = open_page("?model=preset:cnn_digits")
    button = page.get_by_role("button", name="Mask patches")
    expect(button).to_be_disabled()
    assert button.get_attribute("title")
