"""Every player's animation as a file for slides: downloaded from its menu, 1280 px wide, and it moves."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenPage

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDTH = 1280
RECORDING_MS = 280_000  # on two busy cores
PLAYERS = {
    "swin_shift_swin_digits": ("swin?model=preset:swin_digits", "swin_stepper", 9),
    "swin_reach_swin_digits": ("swin?model=preset:swin_digits&swin.view=travel", "swin_reach", 4),
    "token_journey_vit_digits": ("?model=preset:vit_digits", "map", 12),
    "positions_training_cifar10_vit": ("positions?model=checkpoint:cifar10_vit", "similarity_view", 2),
    "training_snapshots_vit_digits": ("live_lab?model=preset:vit_digits", "timeline", 2),
}


def save(view: Locator, kind: str, folder: Path) -> Path:
    """Choose a format in the menu of a view's player and keep the file."""
    menu = view.locator(".vv-files")
    menu.locator("summary").click()
    with view.page.expect_download(timeout=RECORDING_MS) as download:
        menu.get_by_role("button", name=kind, exact=True).click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def read_frames(file: Path) -> list[Image.Image]:
    with Image.open(file) as film:
        assert film.width == WIDTH
        frames = []
        for i in range(film.n_frames):
            film.seek(i)
            frames.append(film.convert("RGB"))
        return frames


@pytest.mark.parametrize("name", PLAYERS)
@pytest.mark.timeout(600)
def test_an_animation_is_downloaded(open_page: OpenPage, tmp_path: Path, name: str) -> None:
    address, component, least = PLAYERS[name]
    page = open_page(address)
    view = page.locator(f'[data-component="{component}"]')
    if component == "timeline":  # its images are computed while the page is shown
        expect(view.locator(".timeline-where")).to_contain_text("of 32")
    width = view.evaluate("node => node.clientWidth")
    paper = tuple(json.loads(view.evaluate(PAPER)))
    for kind in ("GIF", "WebP") if component == "swin_stepper" else ("WebP",):
        file = save(view, kind, tmp_path)
        assert file.stem == name and file.suffix == f".{kind.lower()}"
        frames = read_frames(file)
        assert len(frames) >= least
        assert all(ImageChops.difference(*pair).getbbox() for pair in zip(frames, frames[1:], strict=False))
        assert all(frame.getpixel((2, 2)) == paper for frame in frames)
    assert view.evaluate("node => node.clientWidth") == width  # it is laid out as before


PAPER = "node => `[${getComputedStyle(document.querySelector('.stApp')).backgroundColor.match(/\\d+/g)}]`"


def test_a_video_lasts_as_long_as_its_animation(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("positions?model=checkpoint:cifar10_vit")
    view = page.locator('[data-component="similarity_view"]')
    view.locator(".vv-files summary").click()
    kind = view.locator(".vv-files button").last.text_content()
    view.locator(".vv-files summary").click()
    assert kind in ("MP4", "WebM")
    file = save(view, kind, tmp_path)
    if not (probe := shutil.which("ffprobe")):
        pytest.skip("no ffprobe on this machine")
    command = [probe, "-v", "error", "-show_streams", "-show_format", "-count_frames", "-of", "json", file]
    shown = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert shown["streams"][0]["width"] == WIDTH and int(shown["streams"][0]["nb_read_frames"]) > 10
    assert float(shown["format"]["duration"]) > 1.5


def test_pause_ends_a_recording_without_a_file(open_page: OpenPage) -> None:
    page = open_page("swin?model=preset:swin_digits")
    view = page.locator('[data-component="swin_stepper"]')
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    view.locator(".vv-files summary").click()
    view.get_by_role("button", name="GIF").click()
    expect(view.locator(".vv-files summary")).to_contain_text("%")
    view.get_by_role("button", name="Pause").click()
    expect(view.locator(".vv-files summary")).to_have_text("⤓")
    assert "width" not in (view.get_attribute("style") or "")
    assert not downloads
