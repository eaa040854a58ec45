"""A training in a user's own loop is played while it is written, and leaves as one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, expect

import vitviz
from tests.browser.conftest import free_port, start_server, stop_server
from vitviz.torchvision_fix import import_torchvision

pytestmark = pytest.mark.browser


@pytest.fixture
def recorder(tmp_path: Path) -> vitviz.Recorder:
    import_torchvision()
    import timm

    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, num_classes=5)
    image = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    return vitviz.record(model, [image], tmp_path / "run", title="timm in a loop")


@pytest.fixture
def address(recorder: vitviz.Recorder, tmp_path: Path) -> Iterator[str]:
    port = free_port()
    env = {"VITVIZ_RUNS": str(tmp_path / "runs"), "VITVIZ_RECORDED": str(recorder.run.directory)}
    server = start_server("app.py", port, tmp_path / "server.log", env)
    yield f"http://127.0.0.1:{port}/live_lab"
    stop_server(server)


def test_a_recording_is_followed_and_downloaded(
    browser: Browser, recorder: vitviz.Recorder, address: str, tmp_path: Path
) -> None:
    recorder.step(0, loss=2.0, accuracy=0.2)
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    where = page.locator(".timeline-where")
    expect(where).to_contain_text("step 0 ", timeout=60_000)
    expect(page.get_by_text("timm in a loop")).to_be_visible()
    recorder.step(1, loss=1.0, accuracy=0.4)
    recorder.close()
    expect(where).to_contain_text("step 1 ", timeout=30_000)
    expect(where).to_contain_text("loss 1.000")
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Download page (HTML)").click()
    download.value.save_as(tmp_path / "page.html")
    alone = context.new_page()
    requests: list[str] = []
    alone.on("request", lambda request: requests.append(request.url) if request.url[:4] == "http" else None)
    alone.goto((tmp_path / "page.html").as_uri())
    expect(alone.locator(".timeline-where")).to_contain_text("snapshot 2 of 2")
    assert requests == []
    context.close()
