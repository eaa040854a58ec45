"""The image on a lesson's card is that of its best stop: it is taken in a browser, in both themes, and stored.

After a change of a stop or of its view, `python -m pytest -n 0 -m browser --slow --store-pictures
tests/browser/test_lesson_pictures.py` takes the images anew.
"""

from __future__ import annotations

import io
import tomllib
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, OpenPage

CARDS = ROOT / "static" / "cards"
SIZE, GAP, MOST_BYTES = (660, 300), 12, 15_000
COARSE, MOST_APART = (33, 15), 12.0  # px, and mean difference of a channel


@dataclass(frozen=True)
class Stop:
    """A lesson's best stop, what its learner does there, and the pieces of its view: first and last canvas of each."""

    title: str
    view: str
    pieces: tuple[tuple[int, int], ...]
    done: str = ""


STOPS = {
    "fifteen": Stop("When is the prediction final?", "explorer", ((0, 0), (3, 10))),
    "lecture": Stop("Features layer by layer", "colours", ((0, 0), (3, 14))),
    "explanation": Stop("Which map is faithful?", "maps", ((0, 0), (2, 2), (4, 4))),
    "positions": Stop("When does the order appear?", "similarity_view", ((0, 0), (2, 2)), "step=2429"),
    "swin": Stop("The mask", "swin_stepper", ((0, 0), (2, 2), (3, 3)), "pin=0.062,0.062&swin.stage=mask"),
}


def address_of(name: str) -> str:
    lesson = tomllib.loads((ROOT / "lessons" / f"{name}.toml").read_text("utf-8"))
    stop = STOPS[name]
    (link,) = [one["link"] for one in lesson["stop"] if one["title"] == stop.title]
    changed = [part.partition("=")[0] for part in stop.done.split("&")]
    kept = [part for part in link.split("&") if part.partition("=")[0] not in changed]
    return "&".join([*kept, *filter(None, [stop.done])])


def take_image(page: Page, stop: Stop) -> Image.Image:
    """Return the pieces side by side, as large as they fit, on a clear ground."""
    view = page.locator(f"[data-component={stop.view}]").first
    expect(view).to_have_attribute("data-ready", "true")
    shown = page.screenshot(full_page=True, animations="disabled")
    screen, boxes = Image.open(io.BytesIO(shown)).convert("RGBA"), []
    for piece in stop.pieces:
        corners = [view.locator("canvas").nth(number).bounding_box() for number in piece]
        first, last = corners
        assert first and last
        boxes.append((first["x"], first["y"], last["x"] + last["width"], last["y"] + last["height"]))
    parts = [screen.crop(tuple(map(round, box))) for box in boxes]
    shape = sum(part.width / part.height for part in parts)
    high = round(min(SIZE[1], (SIZE[0] - GAP * (len(parts) - 1)) / shape))
    parts = [
        part.resize((round(high * part.width / part.height), high), Image.Resampling.BOX) for part in parts
    ]
    image = Image.new("RGBA", SIZE)
    left = (SIZE[0] - sum(part.width for part in parts) - GAP * (len(parts) - 1)) // 2
    for part in parts:
        image.paste(part, (left, (SIZE[1] - high) // 2))
        left += part.width + GAP
    return image


def encode(image: Image.Image) -> bytes:
    for quality in range(90, 4, -5):
        data = io.BytesIO()
        image.save(data, "WEBP", quality=quality, method=6)
        if data.tell() <= MOST_BYTES:
            return data.getvalue()
    raise AssertionError("too large")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", STOPS)
def test_a_card_shows_what_its_stop_shows(
    open_page: OpenPage, request: pytest.FixtureRequest, name: str, theme: str
) -> None:
    page = open_page(address_of(name), width=1280, height=1300, color_scheme=theme)
    taken, path = take_image(page, STOPS[name]), CARDS / f"lesson_{name}_{theme}.webp"
    if request.config.option.store_pictures:
        path.write_bytes(encode(taken))
    with Image.open(path) as opened:
        stored = opened.convert("RGBA")
    both = [np.asarray(one.resize(COARSE, Image.Resampling.BOX), float) for one in (taken, stored)]
    assert np.abs(both[0] - both[1]).mean() <= MOST_APART


def test_every_shipped_lesson_has_small_images() -> None:
    names = {path.stem for path in (ROOT / "lessons").glob("*.toml")}
    assert names == {*STOPS}
    files = {f"lesson_{name}_{theme}.webp" for name in names for theme in ("light", "dark")}
    assert {path.name for path in CARDS.glob("*.webp")} == files
    for file in files:
        with Image.open(CARDS / file) as image:
            assert (CARDS / file).stat().st_size <= MOST_BYTES and image.size == SIZE
