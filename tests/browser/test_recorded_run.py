"""Trainings in users' own loops are played while they are written, opened on other pages, and leave as one file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import nn

import vitviz
from tests.browser.conftest import serving, wait_for
from tests.parity.test_framework_recorders import train_lightning, train_transformers
from tests.parity.test_recorder import timm_vit
from tests.rows import rows
from vitviz.recorded_run import RecordedRun

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore"),
]  # of the frameworks, about themselves
TITLE = "<b>loop</b> *one*"  # a user's own words, and no markup
IMAGES = [np.random.default_rng(seed).integers(0, 256, (40, 40, 3), np.uint8) for seed in range(2)]


def train_timm(folder: Path) -> None:
    """Train timm's ViT in a loop of three lines more."""
    torch.manual_seed(0)
    model = timm_vit()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with vitviz.record(model, IMAGES, folder, title=TITLE) as recorder:
        for step in range(6):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 32, 32)), torch.randint(0, 5, (4,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.step(step, loss=loss, accuracy=0.5)


def train_trainer(folder: Path) -> None:
    train_transformers(folder, images=IMAGES, title=TITLE)


def train_module(folder: Path) -> None:
    train_lightning(folder, images=IMAGES, title=TITLE)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that was opened on the folder of a run, and this folder, which does not exist yet."""
    root = tmp_path_factory.mktemp("recorded")
    with serving(root, VITVIZ_RECORDED=str(root / "run")) as (port, _):
        yield f"http://127.0.0.1:{port}", root / "run"


@pytest.fixture
def folder(opened: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("vitviz.recorder.FREE_S", 1e9)  # a busy machine leaves no moment out
    shutil.rmtree(opened[1], ignore_errors=True)
    return opened[1]


def read_shown(page: Page) -> dict[str, list[str]]:
    """Return what the timeline and the curves say."""
    names = (".timeline-where", ".timeline-title", ".timeline-note", ".curves-numbers dd")
    return {name: page.locator(name).all_inner_texts() for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(
    "train", rows([train_timm, train_trainer, train_module], lambda train: train is train_timm)
)
def test_a_training_is_played_and_leaves_as_one_file(
    browser: Browser,
    opened: tuple[str, Path],
    folder: Path,
    tmp_path: Path,
    train: Callable[[Path], None],
) -> None:
    train(folder)
    steps = RecordedRun(folder).steps()
    count = len(steps)
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{opened[0]}/live_lab")
    end = re.compile(
        rf"^step {steps[-1]} · [\d.]+\s(s|min).* · snapshot {count} of {count}$"
    )  # playing has ended
    expect(page.locator(".timeline-where")).to_have_text(end, timeout=60_000)
    expect(page.get_by_text(TITLE, exact=True).first).to_be_visible()
    assert page.locator("b").filter(has_text="loop").count() == 0
    for number, title in enumerate(("Position similarity", "Filters of E", "Attention distance, px"), 1):
        expect(page.locator(".timeline-title").nth(number)).to_have_text(title)
    expect(page.locator(".curves-numbers dd").nth(1)).to_have_text(
        re.compile(r"^\d\.\d+$")
    )  # the training loss
    shown = read_shown(page)
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Download page (HTML)").click()
    download.value.save_as(tmp_path / "page.html")
    alone = context.new_page()
    requests: list[str] = []
    alone.on("request", lambda request: requests.append(request.url) if request.url[:4] == "http" else None)
    alone.goto((tmp_path / "page.html").as_uri())
    expect(alone.locator(".timeline-where")).to_have_text(end, timeout=60_000)
    wait_for(alone, lambda: read_shown(alone), shown.__eq__)
    assert requests == []
    alone.close()
    page.locator(".timeline-card").nth(1).get_by_role("button", name="open").click()
    expect(page.locator("h1")).to_have_text("Positions", timeout=60_000)
    page.wait_for_url(re.compile(rf"model=recorded%3Aopened&step={steps[-1]}&"), timeout=60_000)
    expect(page.get_by_text("Recorded in your own loop").first).to_be_visible()
    context.close()


@pytest.mark.slow
def test_a_recording_is_followed_while_it_is_written(
    browser: Browser, opened: tuple[str, Path], folder: Path
) -> None:
    page = browser.new_page()
    page.goto(f"{opened[0]}/live_lab")
    expect(page.get_by_text("is no recorded run")).to_be_visible(timeout=60_000)
    recorder = vitviz.record(timm_vit(), IMAGES, folder, title=TITLE)
    recorder.step(0, loss=2.0, accuracy=0.2)
    where = page.locator(".timeline-where")
    expect(where).to_contain_text("step 0 ", timeout=60_000)
    recorder.step(1, loss=1.0, accuracy=0.4)
    recorder.close()
    expect(where).to_contain_text("step 1 ", timeout=60_000)
    expect(where).to_contain_text("loss 1.000")
    page.close()


@pytest.mark.slow
def test_a_zip_of_a_run_is_opened_beside_it(
    browser: Browser, opened: tuple[str, Path], folder: Path, tmp_path: Path
) -> None:
    train_timm(folder)
    archive = shutil.make_archive(str(tmp_path / "zipped"), "zip", folder.parent, folder.name)
    folder.rename(tmp_path / "moved")
    page = browser.new_page()
    page.goto(f"{opened[0]}/live_lab")
    expect(page.get_by_text("is no recorded run")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Open a recorded run").click()
    page.locator('input[type="file"]').last.set_input_files(archive)
    expect(page.locator(".timeline-where")).to_contain_text("snapshot 6 of 6", timeout=60_000)
    page.close()
