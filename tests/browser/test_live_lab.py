"""The live lab in a real browser, with real worker processes: train, pause, scrub, kill, resume, carry, look inside."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

import vitviz
from tests.browser.conftest import MOVING, OpenPage, wait_for
from tests.browser.test_live_page import ROOT, draw_seven
from vitviz.checkpoints import open_model
from vitviz.data import drawings
from vitviz.training.run_directory import Run

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.timeout(900)]
TRAINING_MS = 600_000  # a machine that does much else is slow, not wrong
SERVED_MS = 60_000  # a click that has done nothing by then is lost
STEP = re.compile(r"step ([\d,]+)")
# Wide enough to read, far too long to end by itself while a test looks on.
LONG = "live_lab?live_lab.length=4000&live_lab.snapshots=60"


@pytest.fixture(autouse=True)
def _no_run_stays(runs_folder: Path) -> Iterator[None]:
    """A test that failed leaves no place taken: what comes after it would wait for its turn."""
    yield
    for directory in runs_folder.glob("*/config.json"):
        run = Run(directory.parent)
        if run.status().active:
            run.control("stop")


def start(page: Page) -> None:
    page.get_by_role("button", name="Start training").click()
    page.wait_for_url(re.compile(r"live_lab\.run="), timeout=SERVED_MS)
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


def percent_in(text: str, label: str = "") -> float:
    """Return the first percentage, behind a label; 0 where there is none yet."""
    found = re.search(rf"{label}([\d.]+)\s%", text)
    return float(found[1]) if found else 0.0


def test_a_small_vit_learns_digits_and_is_looked_into(open_page: OpenPage) -> None:
    # Two thirds of the recipe's epochs: 100 and 98.6 % with this seed.
    learning = "live_lab?live_lab.recipe=digits_live&live_lab.length=14&live_lab.snapshots=14"
    page = open_page(learning, height=1600, **MOVING)
    start(page)
    expect(page.get_by_text("follow the newest")).to_be_visible(timeout=TRAINING_MS)
    expect(page.locator(".timeline-where")).to_contain_text("snapshot", timeout=TRAINING_MS)
    expect(badge(page, "done")).to_be_visible(timeout=TRAINING_MS)
    # The badge comes a moment before the numbers.
    validation = page.locator(".curves-numbers div").filter(has_text="Validation accuracy")
    wait_for(page, validation.inner_text, lambda text: percent_in(text) >= 97)
    main = page.locator('[data-testid="stMain"]')
    wait_for(page, main.inner_text, lambda text: percent_in(text, "Test accuracy ") >= 95)

    # The model noun is this run now; its first step opens in a lens, and the link says which.
    lab = page.url
    track = page.get_by_label("Training step")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    track.focus()
    page.keyboard.press("Home")
    expect(page.locator(".timeline-where")).to_contain_text("step 0 ")
    page.locator(".timeline-card").filter(has_text="Position similarity").get_by_role(
        "button", name="open"
    ).click()
    expect(page.locator("h1")).to_have_text("Positions")
    page.wait_for_url(re.compile(r"positions\?model=run%3A.*&step=0&"))

    page.goto(lab)  # as a new session: the link holds the run
    pad = page.locator(".pad-canvas")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None
    side = box["width"]
    page.mouse.move(box["x"] + 0.51 * side, box["y"] + 0.16 * side)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.48 * side, box["y"] + 0.83 * side, steps=10)
    page.mouse.up()
    expect(page.locator(".pad-head")).to_contain_text(
        re.compile(r"^\d with probability \d+(\.\d)?\s%, at step"), timeout=TRAINING_MS
    )
    expect(page.locator(".pad-best")).to_have_count(1)


def test_pause_scrub_resume_and_reload(open_page: OpenPage) -> None:
    page = open_page(LONG, height=1600)
    start(page)
    press(page, "Pause")
    expect(badge(page, "paused")).to_be_visible(timeout=TRAINING_MS)
    # The badge is drawn first: what lies above the buttons may still change its height.
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible(timeout=SERVED_MS)
    held = step_of(page)
    press(page, "Step")
    expect(progress(page)).not_to_contain_text(f"step {held:,} ", timeout=SERVED_MS)
    moved = step_of(page)
    assert moved > held

    zoom = page.locator(".curves-canvas")
    box = zoom.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 90, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="reset zoom")).to_be_visible(timeout=TRAINING_MS)

    track = page.get_by_label("Training step")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    track.focus()
    page.keyboard.press("Home")
    expect(page.locator(".timeline-where")).to_contain_text("step 0 ", timeout=TRAINING_MS)
    expect(page.get_by_role("button", name="follow the newest", exact=True)).to_have_attribute(
        "aria-pressed", "false"
    )

    press(page, "Resume")
    expect(badge(page, "training")).to_be_visible(timeout=TRAINING_MS)
    expect(progress(page)).not_to_contain_text(f"step {moved:,} ", timeout=TRAINING_MS)
    expect(page.get_by_role("button", name="reset zoom")).to_be_visible(
        timeout=TRAINING_MS
    )  # the zoom is kept while records arrive
    expect(page.locator(".timeline-where")).to_contain_text(
        "step 0 ", timeout=TRAINING_MS
    )  # and so is the moment

    page.reload()  # a new session: the link holds the run
    expect(progress(page)).to_contain_text(re.compile(r"step [1-9]"), timeout=TRAINING_MS)
    assert step_of(page) >= moved
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)
    expect(page.get_by_text("Resume to continue from here")).to_be_visible(timeout=TRAINING_MS)


def test_a_killed_worker_is_reported_and_resumed(open_page: OpenPage, runs_folder: Path) -> None:
    page = open_page(LONG + "&live_lab.seed=1")
    start(page)
    press(page, "Pause")  # pausing saves: what is resumed is known
    expect(badge(page, "paused")).to_be_visible(timeout=TRAINING_MS)
    held = step_of(page)
    os.kill(worker_of(page, runs_folder), signal.SIGKILL)
    expect(badge(page, "interrupted")).to_be_visible(timeout=TRAINING_MS)
    expect(page.get_by_text("killed by signal 9")).to_be_visible(timeout=TRAINING_MS)
    press(page, "Resume")
    expect(badge(page, "training")).to_be_visible(timeout=TRAINING_MS)
    assert step_of(page) >= held
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)


def test_a_run_travels_to_another_session(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("live_lab?live_lab.length=2&live_lab.seed=2", height=2200)
    start(page)
    expect(badge(page, "done")).to_be_visible(timeout=TRAINING_MS)
    # The badge comes a moment before the bar's words.
    expect(progress(page)).to_contain_text(re.compile(r"step ([\d,]+) of \1 "), timeout=TRAINING_MS)
    last = step_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    archive = tmp_path / "run.zip"
    download.value.save_as(archive)

    other = open_page("live_lab", height=2200)
    other.get_by_role("button", name="Open a recorded run").click()
    other.locator('input[type="file"]').last.set_input_files(archive)
    expect(badge(other, "done")).to_be_visible(timeout=TRAINING_MS)
    expect(progress(other)).to_contain_text(f"step {last:,} ", timeout=TRAINING_MS)
    track = other.get_by_label("Training step")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    other.locator(".timeline-card").first.get_by_role("button", name="open").click()
    expect(other.locator("h1")).to_have_text("Attention", timeout=TRAINING_MS)
    other.wait_for_url(re.compile(rf"attention\?model=run%3A.*&step={last}&"), timeout=TRAINING_MS)


def test_a_run_is_downloaded_as_a_page_that_answers_a_drawing(
    open_page: OpenPage, runs_folder: Path, tmp_path: Path
) -> None:
    page = open_page("live_lab?live_lab.length=2&live_lab.seed=2", height=2200)
    start(page)
    expect(badge(page, "done")).to_be_visible(timeout=TRAINING_MS)
    page.get_by_role("button", name="Download as a page that runs").click(timeout=TRAINING_MS)
    saved = {}
    for name in ("Last step", "All"):
        offer = page.get_by_role("button", name=re.compile(rf"^{name}.*about"))
        expect(offer).to_be_visible(timeout=TRAINING_MS)
        stated = re.search(r"about ([\d.]+) MB", offer.inner_text())
        with page.expect_download(timeout=TRAINING_MS) as download:
            offer.click()
        saved[name] = tmp_path / f"{name}.html"
        download.value.save_as(saved[name])
        assert stated and saved[name].stat().st_size / 1e6 == pytest.approx(float(stated[1]), abs=0.1)
    assert saved["Last step"].stat().st_size < 1e6 and saved["All"].stat().st_size < 5e6

    run = Run(directory_of(page, runs_folder))
    assert run.id not in saved["All"].read_text("utf-8")
    alone = page.context.new_page()
    alone.goto(saved["All"].as_uri())
    expect(alone.locator(f"{ROOT}[data-started=true]")).to_be_visible(timeout=SERVED_MS)
    strokes = draw_seven(alone)
    view = vitviz.inspect(open_model(run.snapshot_path(run.snapshots()[-1])), drawings.draw_strokes(strokes))
    name, share = view.prediction[0]
    text = f"Predicted class: {name}, {100 * share:.1f}\N{NO-BREAK SPACE}%"
    expect(alone.locator(".cb-head")).to_have_text(text, timeout=SERVED_MS)
    alone.get_by_label("Training step").fill("0")
    expect(alone.locator(ROOT)).to_have_attribute("data-step", "0", timeout=SERVED_MS)
    alone.close()


def test_a_change_while_it_trains_takes_effect_and_is_reported(
    open_page: OpenPage, runs_folder: Path
) -> None:
    page = open_page(LONG + "&live_lab.seed=3&live_lab.schedule=constant&live_lab.depth=1", height=1400)
    start(page)
    press(page, "Change during training")
    rate = page.get_by_label("Peak learning rate")
    rate.fill("0.0007")
    rate.press("Enter")
    expect(page.get_by_text("peak learning rate 0.003 → 0.0007 at step")).to_be_visible(timeout=TRAINING_MS)
    rate.fill("-1")
    rate.press("Enter")
    expect(page.get_by_text("Learning rate must lie in (0, 10]")).to_be_visible(timeout=TRAINING_MS)
    page.keyboard.press("Escape")
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)
    lines = (directory_of(page, runs_folder) / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    (changed,) = [record["step"] for record in records if record.get("event") == "changed"]
    rates = {record["step"]: record["learning_rate"] for record in records if record["kind"] == "step"}
    assert rates[changed] == 0.003
    assert {rate for step, rate in rates.items() if step > changed + 1} == {0.0007}

    # Another structure is another run, and the page says so before it starts.
    press(page, "Set up")
    page.get_by_role("tab", name="Model", exact=True).click()
    page.get_by_label("Blocks", exact=True).fill("2")
    page.get_by_label("Blocks", exact=True).press("Enter")
    page.keyboard.press("Escape")
    press(page, "Resume")
    expect(badge(page, "training")).to_be_visible(timeout=TRAINING_MS)
    press(page, "Set up")
    expect(page.get_by_text("It differs from the run shown in Blocks")).to_be_visible(timeout=TRAINING_MS)
    page.keyboard.press("Escape")
    press(page, "Stop")
    expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)


def test_one_user_leaves_a_place(open_page: OpenPage, runs_folder: Path) -> None:
    small = "live_lab?live_lab.length=4000&live_lab.snapshots=4&live_lab.depth=1"
    ann, bob = open_page(f"{small}&live_lab.seed=4"), open_page(f"{small}&live_lab.seed=5")
    before = set(runs_folder.iterdir())
    ann.get_by_role("button", name="Start training").dblclick()  # asks for one run
    expect(progress(ann)).to_contain_text(re.compile(r"step [1-9]"), timeout=TRAINING_MS)
    first = Run(directory_of(ann, runs_folder))
    assert set(runs_folder.iterdir()) - before == {first.directory}
    ann.get_by_role("button", name="Start training").click()
    expect(ann.get_by_text("trained with these settings already")).to_be_visible(timeout=SERVED_MS)
    assert set(runs_folder.iterdir()) - before == {first.directory}
    press(ann, "Set up")
    ann.get_by_label("Seed", exact=True).fill("6")
    ann.get_by_label("Seed", exact=True).press("Enter")
    ann.wait_for_url(re.compile("live_lab.seed=6"), timeout=SERVED_MS)
    ann.keyboard.press("Escape")
    ann.get_by_role("button", name="Start training").click()
    expect(progress(ann)).to_contain_text("position 1", timeout=SERVED_MS)
    start(bob)  # passes what ann has waiting: she cannot take every place
    expect(progress(ann)).to_contain_text("position 1")
    for page in (bob, ann):
        press(page, "Stop")
        expect(badge(page, "stopped")).to_be_visible(timeout=TRAINING_MS)
    first.control("stop")  # it would train beside the tests that follow


def worker_of(page: Page, runs_folder: Path) -> int:
    """The process that trains the run on the stage, as its status says."""
    return int(json.loads((directory_of(page, runs_folder) / "status.json").read_text())["pid"])


def directory_of(page: Page, runs_folder: Path) -> Path:
    return runs_folder / parse_qs(urlparse(page.url).query)["live_lab.run"][0]
