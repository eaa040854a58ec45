"""Three walks through the whole app: an engineer with a photo, a student from page to page, a lecturer with a link."""

from __future__ import annotations

import io
import re
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, expect

from pages.stores import registry
from tests.browser.conftest import ROOT, OpenPage, choose_in_menu, settle, take
from tests.browser.test_attention import cell, explorer
from tests.rows import rows
from vitviz.checkpoint_header import read_header
from vitviz.data.image_decoding import decode_image
from vitviz.data.image_preprocessing import seen_crop
from vitviz.data.samples import load_sample
from vitviz.plots.theme import PALETTES

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
Uint8 = NDArray[np.uint8]
MAIN = '[data-testid="stMain"]'
OUTLINE_PX = 4  # of the query's white frame, outside its patch
SIDEWAYS = """main => [document.documentElement, document.querySelector(main)]
  .map((node) => node.scrollWidth - node.clientWidth).filter((more) => more > 1)"""


def address_query(page: Page) -> dict[str, str]:
    """What the address says."""
    return {key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()}


def arrived(page: Page, slug: str) -> None:
    """Waits until a page has run to its end, which is when it writes its link."""
    place = "" if slug == "home" else slug
    page.wait_for_url(re.compile(rf"^[^?]*:\d+/{place}\?.*crop="))
    settle(page)


def go(page: Page, slug: str) -> None:
    choose_in_menu(page, slug)
    arrived(page, slug)


def photo() -> bytes:
    """A cup of coffee as a camera would give it: a JPEG of 640 × 480 px."""
    buffer = io.BytesIO()
    Image.fromarray(load_sample("coffee")).crop((0, 0, 533, 400)).resize((640, 480)).save(buffer, "JPEG")
    return buffer.getvalue()


def crop_for(page: Page, data: bytes) -> Uint8:
    """The square that the model of this page reads, in the photo's own pixels."""
    name = address_query(page)["model"].removeprefix("checkpoint:")
    header = read_header(ROOT / "checkpoints" / f"{name}.safetensors")
    return seen_crop(decode_image(data), header.preparation)


def exported(page: Page, folder: Path) -> Uint8:
    """The file behind 'View, PNG'."""
    numbers = page.get_by_text("The numbers", exact=True)
    if not page.get_by_role("button", name="View, PNG").is_visible():
        numbers.click()
    file = folder / f"{address_query(page)['model'].partition(':')[2]}.png"
    take(page, "View, PNG").save_as(file)
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB"))


def without_query(page: Page, grid: int, side_px: int) -> NDArray[np.bool_]:
    """(side, side): where no outline of the pinned patch lies."""
    free = np.ones((side_px, side_px), bool)
    pin = address_query(page).get("pin", "0.5,0.5")  # unpinned: the centre
    if pin != "cls":
        col, row = (int(float(part) * grid) for part in pin.split(","))
        px = side_px / grid
        rows, cols = (
            slice(max(0, round(i * px) - OUTLINE_PX), round((i + 1) * px) + OUTLINE_PX) for i in (row, col)
        )
        free[rows, cols] = False
    return free


def assert_one_weight_per_patch_over(crop: Uint8, kept: Uint8, free: NDArray[np.bool_], grid: int) -> None:
    """kept = crop + a (accent - crop) with one a per patch: where a is 0 that is the crop."""
    color = PALETTES["light"].query
    accent = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)], float)
    px = len(crop) // grid
    for row in range(grid):
        for col in range(grid):
            place = (slice(row * px, (row + 1) * px), slice(col * px, (col + 1) * px))
            inside = free[place]
            if not inside.any():
                continue
            below, now = (
                crop[place][inside].astype(float),
                kept[place][inside].astype(float) + 0.5,
            )  # was cut off
            way = accent - below
            share = float(((now - below) * way).sum() / (way**2).sum())
            assert -0.01 <= share <= 1.01
            assert np.abs(below + share * way - now).max() <= 1.5, f"row {row + 1}, column {col + 1}"


MISSION = {  # slug -> what its first screen shows
    "patches": "[data-component=patches_stage]",
    "positions": "[data-component=similarity_view]",
    "filters": "[data-component=tiles_view]",
    "attention": "[data-component=explorer]",
    "attention_distance": "[data-component=head_distance]",
    "swin": "[data-component=swin_stepper]",
    "live_lab": 'button:has-text("Start training")',
    "class_room": 'button:has-text("Open class")',
}


@pytest.mark.slow
@pytest.mark.parametrize("slug", rows(MISSION, ("attention", "live_lab").__contains__))
def test_each_item_of_the_mission_is_two_clicks_from_start(open_page: OpenPage, slug: str) -> None:
    page = open_page()
    arrived(page, "home")
    go(page, slug)  # the group and its entry
    expect(page.locator(f"{MAIN} {MISSION[slug]}").first).to_be_visible()
    if slug == "attention":
        expect(page.locator('[data-testid="stSidebar"]').get_by_text("Upload", exact=True)).to_be_visible()


@pytest.mark.slow
def test_an_engineer_takes_a_photo_to_its_attention_and_along(open_page: OpenPage, tmp_path: Path) -> None:
    data = photo()
    page = open_page()
    arrived(page, "home")
    assert address_query(page)["model"] == "checkpoint:mnist_vit"
    page.get_by_text("Upload", exact=True).click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "me.jpg", "mimeType": "image/jpeg", "buffer": data}
    )
    expect(page).to_have_url(re.compile("model=pretrained%3Adinov2_small_saliency"))
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_contain_text(
        re.compile(r"CIFAR-10 ViT, patch 4\W? is shown instead")
    )  # it has classes
    sidebar.get_by_role("button", name="Select this model").click()
    expect(page).to_have_url(re.compile("model=checkpoint%3Acifar10_vit&"))

    go(page, "attention")
    upload = address_query(page)["image"]
    assert upload.startswith("upload:")
    view = explorer(page)
    crop = crop_for(page, data)
    assert crop.shape == (480, 480, 3)
    expect(view).to_have_attribute("data-photo", "32x32")  # what the model saw
    stage = view.locator(".ax-stage")
    stage.hover(position=cell(stage, 1, 6))
    expect(view.locator(".ax-name")).to_contain_text("row 2, column 7")

    page.get_by_role("button", name="Options").click()
    seen = page.locator('[data-testid="stPopoverBody"]').get_by_text("Show model input", exact=True)
    seen.click()
    expect(view).to_have_attribute("data-photo", "480x480")
    base = view.locator("canvas.ax-base")
    assert base.evaluate("node => [node.width, node.height]") == [480, 480]
    page.keyboard.press("Escape")

    kept = exported(page, tmp_path)
    assert kept.shape == crop.shape
    free = without_query(page, 8, 480)
    assert_one_weight_per_patch_over(crop, kept, free, 8)
    assert (kept[free] != crop[free]).any()

    # A window's tokens look nowhere outside of it: there the map is zero and the file is the crop, to the last bit.
    page.goto(
        page.url.partition("?")[0]
        + f"?model=checkpoint:cifar10_swin&image={upload}&pin=0.1,0.1&attention.layer=1&attention.head=1"
        + "&attention.seen=0"
    )
    arrived(page, "attention")
    explorer(page)
    config = read_header(ROOT / "checkpoints" / "cifar10_swin.safetensors").config
    kept = exported(page, tmp_path)
    inside = len(crop) * config.window_size * config.patch_size // 32
    assert 0 < inside < len(crop)
    assert (kept[:inside, :inside] != crop[:inside, :inside]).any()
    assert (kept[inside:] == crop[inside:]).all() and (kept[:, inside:] == crop[:, inside:]).all()


def pictured(page: Page) -> dict[str, object]:
    """What the explorer shows: query, layer, head, and the pixels of the image and of the map over it."""
    page.mouse.move(5, 5)
    view = explorer(page)
    expect(view).to_have_attribute("data-photo", re.compile(r"\d+x\d+"))
    shown: dict[str, object] = {
        name: view.get_attribute(f"data-{name}") for name in ("query", "layer", "head", "style", "photo")
    }
    for name in ("ax-base", "ax-cells"):
        shown[name] = view.locator(f".ax-stage canvas.{name}").evaluate("node => node.toDataURL()")
    return shown | {"link": address_query(page)}


def press(page: Page, way: str, slug: str) -> None:
    """Back or Forward, once."""
    getattr(page, f"go_{way}")()
    arrived(page, slug)
    expect(page.get_by_role("heading", level=1, name=registry.BY_SLUG[slug].title)).to_be_visible()


@pytest.mark.slow
def test_a_lecturer_hands_out_a_link_and_walks_back_and_forth(open_page: OpenPage) -> None:
    page = open_page(
        "attention?model=checkpoint:cifar10_vit&image=sample:coffee&pin=cls&attention.style=heat&attention.layer=2"
    )
    arrived(page, "attention")
    view = explorer(page)
    stage = view.locator(".ax-stage")
    stage.click(position=cell(stage, 2, 5))
    expect(page).not_to_have_url(re.compile("pin=cls"))
    view.locator(".ax-heads button").nth(2).click()
    expect(page).to_have_url(re.compile(r"attention\.head=3"))
    for name, value in (("layer", "2"), ("head", "3"), ("style", "heat")):
        expect(view).to_have_attribute(f"data-{name}", value)
    settle(page)
    shown = pictured(page)

    guest = open_page(page.url.partition("/attention")[1].lstrip("/") + page.url.partition("/attention")[2])
    arrived(guest, "attention")
    assert pictured(guest) == shown
    guest.close()
    page.reload()
    arrived(page, "attention")
    assert pictured(page) == shown

    go(page, "patches")
    go(page, "positions")
    press(page, "back", "patches")
    press(page, "back", "attention")
    assert pictured(page) == shown
    press(page, "forward", "patches")
    press(page, "forward", "positions")

    zoomed = open_page(width=933, height=600, device_scale_factor=1.5)
    wide: dict[str, list[int]] = {}
    for entry in registry.PAGES:
        zoomed.goto(page.url.partition("/positions")[0] + f"/{'' if entry.slug == 'home' else entry.slug}")
        arrived(zoomed, entry.slug)
        wide[entry.slug] = zoomed.evaluate(SIDEWAYS, MAIN)
    assert not any(wide.values()), wide
