"""A photo of a phone opens with the shipped photo model at once: hover, export, two images, and a walk of ten pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, expect
from skimage import data

from tests.browser.conftest import frames_sent, open_drawers, serving, take
from tests.browser.test_attention import cell, explorer, pixels

pytestmark = pytest.mark.browser
DOWNLOAD_MS = 60_000  # on a busy machine


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app without downloaded weights."""
    folder = tmp_path_factory.mktemp("photo")
    with serving(folder, VITVIZ_WEIGHTS=f"{folder}/weights", HF_HOME=f"{folder}/hub") as (port, _):
        yield f"http://127.0.0.1:{port}"


def phone_photo() -> FilePayload:
    """12 megapixels of a cat, stored on its side with the EXIF rotation that turns it upright."""
    upright = Image.fromarray(data.chelsea()).resize((4000, 3000), Image.Resampling.BICUBIC)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    buffer = io.BytesIO()
    upright.transpose(Image.Transpose.ROTATE_90).save(buffer, "JPEG", quality=90, exif=exif)
    return {"name": "IMG_0001.JPG", "mimeType": "image/jpeg", "buffer": buffer.getvalue()}


@pytest.mark.slow
def test_a_photo_opens_with_the_photo_model_at_once(
    browser: Browser, own_server: str, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{own_server}/attention")
    explorer(page)
    page.get_by_test_id("stSidebar").get_by_text("Upload", exact=True).click()
    page.locator('[data-testid="stSidebar"] input[type=file]').set_input_files(phone_photo())
    sidebar = page.get_by_test_id("stSidebar")
    expect(page).to_have_url(re.compile("image=upload%3A"), timeout=DOWNLOAD_MS)
    view = explorer(page)
    expect(view.locator(".ax-heads canvas")).to_have_count(6)
    for part in ("model=pretrained%3Adinov2_small_saliency", "attention.layer=10", "attention.head=5"):
        expect(page).to_have_url(re.compile(part))
    expect(sidebar).to_contain_text(re.compile(r"4,000\s×\s3,000\spx"))  # upright

    stage, cells = view.locator(".ax-stage"), view.locator(".ax-stage canvas.ax-cells")
    expect(view).to_have_attribute("data-query", "0")
    before, sent = pixels(cells), frames_sent(page)
    stage.hover(position=cell(stage, 4, 8, 16))
    expect(view).to_have_attribute("data-query", str(1 + 4 * 16 + 8))
    assert pixels(cells) != before and not sent
    page.mouse.move(5, 5)
    page.screenshot(path=tmp_path / "photo.png", full_page=True)

    open_drawers(page)
    image = Image.open(io.BytesIO(take(page, "View, PNG", DOWNLOAD_MS).path().read_bytes()))
    assert image.size[0] == image.size[1] >= 1000, "at the crop's own resolution"
    archive = np.load(io.BytesIO(take(page, "Layer, NPZ", DOWNLOAD_MS).path().read_bytes()))
    np.testing.assert_allclose(archive["attention"].sum(axis=-1), 1, rtol=1e-4)
    assert archive["attention"].shape == (6, 257, 257)

    page.goto(f"{own_server}/two_images?{page.url.partition('?')[2]}&two_images.second=mirror")
    match = page.locator("[data-component=match][data-ready=true]")
    expect(match).to_be_visible(timeout=60_000)
    first = match.locator(".vv-frame").first
    first.hover(position=cell(first, 4, 3, 16))
    expect(match).to_have_attribute("data-query", f"0:{4 * 16 + 3}")
    expect(match.locator(".mt-facts")).to_contain_text(re.compile(r"First image, row 5, column 4.*cosine"))
    open_drawers(page)
    assert "cosine" in take(page, "Mutual neighbours (CSV)", DOWNLOAD_MS).path().read_text("utf-8")
    assert not errors
    page.close()
