"""The live lab in a real browser, with real worker processes: train, pause, scrub, kill, resume, carry, look inside."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
TRAINING_MS = 240_000  # a machine that does much else is slow, not wrong
STEP = re.compile(r"step ([\d,]+)")
# Wide enough to read, far too long to end by itself while a test looks on.
LONG = "live_lab?live_lab.length=4000&live_lab.snapshots=60"


def start(page: Page) -> None:
    page.get_by_role("button", name="Start a new run").click()
    expect(progress(page)).to_contain_text(re.compile(r"step [1-9]"), timeout=TRAINING_MS)


def progress(page: Page) -> Locator:
    return page.locator('[data-testid="stProgress"]')


def step_of(page: Page) -> int:
    found = STEP.search(progress(page).inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def badge(page: Page, state: str) -> Locator:
    return page.locator('[data-testid="stMain"] .stMarkdownBadge').filter(has_text=state)


def metric(page: Page, label: str) -> float:
    text = page.locator('[data-testid="stMetric"]').filter(has_text=label).inner_text()
    found = re.search(r"([\d.]+)\s%", text)
    assert found is not None, text
    return float(found[1])


def test_a_small_vit_learns_digits_and_is_looked_into(visit: Visit) -> None:
    page = visit("live_lab?live_lab.recipe=digits_live", height=1600)
    start(page)
    expect(page.get_by_text("follow the newest")).to_be_visible(timeout=TRAINING_MS)
    expect(page.locator(".life-where")).to_contain_text("snapshot", timeout=TRAINING_MS)
    expect(badge(page, "done")).to_be_visible(timeout=TRAINING_MS)
    assert metric(page, "Validation accuracy") >= 97
    assert metric(page, "Test accuracy") >= 95

    # The model noun is this run now; its first step opens in a lens, and the link says which.
    lab = page.url
    track = page.get_by_label("Moment of training")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    track.focus()
    page.keyboard.press("Home")
    expect(page.locator(".life-where")).to_contain_text("step 0 ", timeout=30_000)
    page.locator(".life-card").filter(has_text="Similarity of positions").get_by_role(
        "button", name="open"
    ).click()
    expect(page.locator("h1")).to_have_text("Positional encodings", timeout=30_000)
    page.wait_for_url(re.compile(r"positions\?model=run%3A.*&step=0&"), timeout=30_000)

    page.goto(lab)  # as a fresh visit: the link holds the run
    pad = page.locator(".pad-canvas")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 118, box["y"] + 36)
    page.mouse.down()
    page.mouse.move(box["x"] + 112, box["y"] + 192, steps=10)
    page.mouse.up()
    expect(page.locator(".pad-head")).to_contain_text(
        re.compile(r"^\d with \d+(\.\d)?\s%, by step"), timeout=TRAINING_MS
    )
    expect(page.locator(".pad-best")).to_have_count(1)


def test_pause_scrub_resume_and_reload(visit: Visit) -> None:
    page = visit(LONG, height=1600)
    start(page)
    press(page, "Pause")
    expect(badge(page, "paused")).to_be_visible(timeout=TRAINING_MS)
    held = step_of(page)
    press(page, "Step")
    expect(progress(page)).not_to_contain_text(f"step {held:,} ", timeout=TRAINING_MS)
    moved = step_of(page)
    assert moved > held

    zoom = page.locator(".curves-canvas")
    box = zoom.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 90, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="whole run")).to_be_visible(timeout=TRAINING_MS)

    track = page.get_by_label("Moment of training")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    track.focus()
    page.keyboard.press("Home")
    expect(page.locator(".life-where")).to_contain_text("step 0 ", timeout=TRAINING_MS)
    expect(page.get_by_role("button", name="follow the newest")).to_have_attribute("aria-pressed", "false")

    press(page, "Resume")
    expect(badge(page, "training")).to_be_visible(timeout=TRAINING_MS)
    expect(progress(page)).not_to_contain_text(f"step {moved:,} ", timeout=TRAINING_MS)
    expect(page.get_by_role("button", name="whole run")).to_be_visible(
        timeout=TRAINING_MS
    )  # the zoom is kept while records arrive
    expect(page.locator(".life-where")).to_contain_text(
        "step 0 ", timeout=TRAINING_MS
    )  # and so is the moment

    page.reload()  # a fresh visit: the link holds the run
    expect(progress(page)).to_contain_text(re.compile(r"step [1-9]"), timeout=TRAINING_MS)
    assert step_of(page) >= moved
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)
    expect(page.get_by_text("resume goes on from here")).to_be_visible(timeout=TRAINING_MS)


def test_a_killed_worker_is_said_and_resumed(visit: Visit) -> None:
    page = visit(LONG + "&live_lab.seed=1")
    start(page)
    press(page, "Pause")  # pausing saves: what is resumed is known
    expect(badge(page, "paused")).to_be_visible(timeout=TRAINING_MS)
    held = step_of(page)
    os.kill(worker_of(page), signal.SIGKILL)
    expect(badge(page, "interrupted")).to_be_visible(timeout=TRAINING_MS)
    expect(page.get_by_text("killed by signal 9")).to_be_visible(timeout=TRAINING_MS)
    press(page, "Resume")
    expect(badge(page, "training")).to_be_visible(timeout=TRAINING_MS)
    assert step_of(page) >= held
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)


def test_a_run_travels_to_another_visit(visit: Visit, tmp_path: Path) -> None:
    page = visit("live_lab?live_lab.length=2&live_lab.seed=2", height=2200)
    start(page)
    expect(badge(page, "done")).to_be_visible(timeout=TRAINING_MS)
    last = step_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    archive = tmp_path / "run.zip"
    download.value.save_as(archive)

    other = visit("live_lab", height=2200)
    other.get_by_role("button", name="Upload a run").click()
    other.locator('input[type="file"]').last.set_input_files(archive)
    expect(badge(other, "done")).to_be_visible(timeout=TRAINING_MS)
    assert step_of(other) == last
    track = other.get_by_label("Moment of training")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    other.locator(".life-card").first.get_by_role("button", name="open").click()
    expect(other.locator("h1")).to_have_text("Attention explorer", timeout=TRAINING_MS)
    other.wait_for_url(re.compile(rf"attention\?model=run%3A.*&step={last}&"), timeout=TRAINING_MS)


def worker_of(page: Page) -> int:
    """The process that trains the run on the stage, as its status says."""
    run = parse_qs(urlparse(page.url).query)["live_lab.run"][0]
    found = [path for path in runs_folders() if (path / run).is_dir()]
    return int(json.loads((found[0] / run / "status.json").read_text())["pid"])


def runs_folders() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("pytest-of-*/pytest-*/server*/runs"))
