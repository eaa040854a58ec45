"""A page that contains its model, opened from the disk: drawings, photos and hidden patches change its answers."""

from __future__ import annotations

import base64
import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import vitviz
from tests.browser.conftest import wait_for
from tests.browser.test_axe import found
from tests.browser.test_html_file import facts
from vitviz.data import drawings
from vitviz.view import View

pytestmark = pytest.mark.browser
ROOT = "main .vv[data-component=explorer_live]"
HIDDEN = [(1, 5), (2, 5), (3, 4), (4, 4), (5, 3), (6, 3)]  # the stem of a seven
PHONE = {"width": 390, "height": 844}
# Each way out of the page that a script could take; the policy closes all of them.
LEAVE = """async ([address]) => {
  const load = (tag, fields) => new Promise((done, fail) => document.head.append(
    Object.assign(document.createElement(tag), { onload: done, onerror: fail, ...fields })));
  const tries = {
    fetch: () => fetch(address),
    beacon: () => { if (!navigator.sendBeacon(address, 'photo')) throw new Error('refused'); },
    image: () => new Promise((done, fail) => Object.assign(new Image(), { onload: done, onerror: fail, src: address })),
    socket: () => new Promise((done, fail) => {
      const socket = new WebSocket(address.replace('http', 'ws'));
      Object.assign(socket, { onopen: done, onerror: fail });
    }),
    script: () => load('script', { src: address }),
    style: () => load('link', { rel: 'stylesheet', href: address }),
  };
  for (const act of Object.values(tries)) await Promise.race([
    Promise.resolve().then(act).catch(() => {}), new Promise((done) => setTimeout(done, 300))]);
  const form = Object.assign(document.createElement('form'), { action: address, method: 'post', target: 'out' });
  const frame = Object.assign(document.createElement('iframe'), { name: 'out', src: address });
  document.body.append(frame, form);
  form.submit();
}"""


def digit_view(name: str = "digits_vit") -> View:
    return vitviz.inspect(name, np.zeros((28, 28), np.uint8))


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A phone with the file of a model of digits; any request or error fails."""
    file = digit_view().save(tmp_path / "model.html")
    assert file.stat().st_size < 10**6
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda one: wrong.append(one.url) if one.url.startswith("http") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    expect(page.locator(f"{ROOT}[data-started=true]")).to_be_visible()
    yield page
    context.close()
    assert wrong == []


def draw_seven(page: Page) -> str:
    return draw_strokes(page, ROOT, "data-strokes")


def draw_strokes(page: Page, root: str, attribute: str) -> str:
    """Draw a seven on the pad and return its strokes, which the view's root states."""
    box = page.locator("canvas.vv-pad").bounding_box()
    assert box
    places = [(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]
    at = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in places]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place in at[1:]:
        page.mouse.move(*place, steps=6)
    page.mouse.up()
    # Once the pen is lifted, the strokes are simplified to the three corners, of three characters each.
    simple = "([root, name]) => document.querySelector(root).getAttribute(name)?.length === 9"
    page.wait_for_function(simple, arg=[root, attribute])
    return str(page.locator(root).get_attribute(attribute))


def test_a_drawing_changes_attention_and_class_as_python_says(opened: Page) -> None:
    before = facts(opened)
    view = vitviz.inspect("digits_vit", drawings.draw_strokes(draw_seven(opened)))
    name, share = view.prediction[0]
    expect(opened.locator(".cb-head")).to_have_text(
        f"Predicted class: {name}, {100 * share:.1f}\N{NO-BREAK SPACE}%"
    )
    weights = view.attention(-1)
    row, col = divmod(int(weights.argmax()), weights.shape[1])
    expect(opened.locator(".ax-inspector tr").first).to_contain_text(f"(row {row + 1}, column {col + 1})")
    now = wait_for(
        opened, lambda: facts(opened), lambda now: abs(float(now["weight"]) - weights.max()) <= 0.002
    )
    assert now != before


def test_nothing_is_predicted_for_an_empty_pad(opened: Page) -> None:
    draw_seven(opened)
    expect(opened.locator(".cb-head")).to_contain_text("Predicted class")
    opened.get_by_role("button", name="Clear").click()
    expect(opened.locator(".cb-head")).to_have_text("Draw a digit: nothing is predicted for an empty pad.")
    expect(opened.locator(".cb-row")).to_have_count(0)


def test_hidden_patches_change_the_class_as_the_mask_does_in_python(opened: Page) -> None:
    strokes = draw_seven(opened)
    view = vitviz.inspect("digits_vit", drawings.draw_strokes(strokes))
    opened.get_by_role("button", name="Hide patches").click()
    stage = opened.locator(".ax-stage")
    box = stage.bounding_box()
    assert box
    for row, column in HIDDEN:
        side = box["width"] / 8
        stage.tap(position={"x": (column + 0.5) * side, "y": (row + 0.5) * side})
    mask = torch.ones(1, 64, dtype=torch.bool)
    mask[0, [8 * row + column for row, column in HIDDEN]] = False
    logits = view.model.model(torch.from_numpy(view.prepared.input[None]), token_mask=mask)
    probabilities = view.model.probabilities(logits[0].detach().numpy())
    best = int(probabilities.argmax())
    text = f"Predicted class: {best}, {100 * probabilities[best]:.1f}\N{NO-BREAK SPACE}%"
    expect(opened.locator(".cb-head")).to_have_text(text)
    assert opened.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert found(opened) == []


def test_a_dropped_png_is_prepared_as_inspect_prepares_it(browser: Browser, tmp_path: Path) -> None:
    photo = Image.open(Path(__file__).parents[2] / "static" / "start.webp").convert("RGB").resize((320, 200))
    buffer = io.BytesIO()
    photo.save(buffer, "PNG")
    (tmp_path / "photo.png").write_bytes(buffer.getvalue())
    view = vitviz.inspect("cifar10_vit", tmp_path / "photo.png")
    file = vitviz.inspect("cifar10_vit", np.zeros((32, 32, 3), np.uint8)).save(tmp_path / "model.html")
    page = browser.new_page()
    page.goto(file.as_uri())
    expect(page.locator(f"{ROOT}[data-started=true]")).to_be_visible()
    page.get_by_label("Image file").set_input_files(tmp_path / "photo.png")
    name, share = view.prediction[0]
    expect(page.locator(".cb-head")).to_have_text(
        f"Predicted class: {name}, {100 * share:.1f}\N{NO-BREAK SPACE}%"
    )
    (tmp_path / "note.png").write_bytes(
        b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>" + bytes(64)
    )
    page.get_by_label("Image file").set_input_files(tmp_path / "note.png")
    expect(page.locator(".xl-note")).to_contain_text("not an image in a supported format")
    page.close()


def test_nothing_leaves_the_page(browser: Browser, tmp_path: Path) -> None:
    file = digit_view("mnist_vit").save(tmp_path / "model.html")
    page = browser.new_page()
    page.goto(file.as_uri())
    expect(page.locator(f"{ROOT}[data-started=true]")).to_be_visible()
    sent: list[str] = []
    page.context.route("**/*", lambda route: (sent.append(route.request.url), route.fulfill(body="received")))
    page.evaluate(LEAVE, ["http://127.0.0.1:9/photo"])
    page.wait_for_timeout(200)
    assert sent == []
    page.close()


def test_the_file_states_no_owner(tmp_path: Path) -> None:
    html = digit_view().save(tmp_path / "model.html").read_text("utf-8")
    (message,) = re.findall(r"data-message>([^<]+)", html)
    raw = gzip.decompress(base64.b64decode(message))
    assert b"pos_embed" in raw
    assert not [word for word in (b"owner", b"lease", b"session", b'"history": [{') if word in raw]
