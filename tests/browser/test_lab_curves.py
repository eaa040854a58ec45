"""What the browser itself does in the lab: curves that are read, zoomed and laid over one another, and the timeline."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MOVING, WAIT_MS, OpenPage, choose_in_menu, wait_for
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.text import percent
from vitviz.training.atomic_files import append_lines
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def runs(runs_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two small runs in the server's folder: a quick one and one that hardly learns."""
    made = []
    for name, rate in (("quick", 5e-3), ("slow", 1e-5)):
        config = RunConfig(
            ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=1, num_heads=2),
            GREY_32,
            TrainConfig(dataset="digits", epochs=4, learning_rate=rate, snapshots=6),
            name,
            "digits_live",
        )
        run = Run.create(tmp_path_factory.mktemp("trained"), config)
        assert Session(run, device="cpu").perform().state == "done"
        made.append(Run(shutil.copytree(run.directory, runs_folder / run.id)))
    return made[0], made[1]


def lab(session: OpenPage, run: Run, **context: object) -> Page:
    page = session(f"live_lab?live_lab.run={run.id}", **{"height": 1800, **context})
    expect(page.get_by_label("Training step")).to_be_enabled(timeout=WAIT_MS)
    return page


def show_settings(page: Page) -> None:
    page.get_by_text("Axes and smoothing", exact=True).click()


def read_at(page: Page, share: float) -> str:
    """What the curves say at a share of the first panel's width."""
    canvas = page.locator(".curves-canvas")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 40 + share * (panel_px(page) - 124), box["y"] + 100)
    tip = page.locator(".vv-tip:visible").first
    expect(tip).to_contain_text("step")
    return tip.inner_text()


def panel_px(page: Page) -> float:
    box = page.locator(".curves-canvas").bounding_box()
    assert box is not None
    return box["width"] if box["width"] < 820 else (box["width"] - 24) / 2


def step_in(text: str) -> float:
    found = re.search(r"step ([\d.]+)(k?)", text)
    assert found is not None, text
    return float(found[1]) * (1000 if found[2] else 1)


def moment(page: Page) -> str:
    return page.locator(".timeline-where").inner_text()


@pytest.mark.slow
def test_values_are_read_on_every_axis(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    page = lab(open_page, runs[0])
    show_settings(page)
    middle = read_at(page, 0.5)
    assert re.search(r"^step \d+ · epoch (1\.9|2)\d* · \d+\.\d s", middle), middle
    assert "train loss" in middle and "validation accuracy" in middle
    last = step_in(read_at(page, 1.0))
    assert abs(step_in(middle) - last / 2) <= last / 20
    for axis in ("epoch", "seconds", "step"):
        page.get_by_role("button", name=axis, exact=True).click()
        expect(page.get_by_role("button", name=axis, exact=True)).to_have_attribute("aria-pressed", "true")
        assert 0 < step_in(read_at(page, 0.5)) < last
    page.get_by_role("button", name="log x").click()
    assert step_in(read_at(page, 0.5)) < last / 4  # the first steps get more room
    page.get_by_role("button", name="log x").click()
    before = page.locator(".curves-canvas").screenshot()
    page.get_by_role("button", name="log y").click()
    wait_for(page, page.locator(".curves-canvas").screenshot, before.__ne__)
    page.get_by_label("Smoothing").fill("0")
    expect(page.locator(".curves-smooth")).to_contain_text("smoothing 0.00")
    page.get_by_label("Third metric").select_option(label="learning rate")
    assert "learning rate" in read_at(page, 0.5)


@pytest.mark.slow
def test_a_change_is_marked_on_every_axis(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    run = runs[1]
    page = lab(open_page, run)
    show_settings(page)
    axes = ("epoch", "seconds", "step")

    def shots() -> list[bytes]:
        found = []
        for axis in axes:
            page.get_by_role("button", name=axis, exact=True).click()
            page.mouse.move(0, 0)
            found.append(page.locator(".curves-canvas").screenshot())
        return found

    before = shots()
    record = {"kind": "event", "event": "changed", "step": 30, "learning_rate": 7e-4}
    append_lines(run.directory / "records.jsonl", [record])
    page.reload()
    returned = re.compile("changed during training: lr 0.0007 at step 30")
    expect(page.locator(".curves-canvas")).to_have_attribute("aria-label", returned, timeout=WAIT_MS)
    expect(page.get_by_label("Training step")).to_be_enabled(timeout=WAIT_MS)
    show_settings(page)
    assert all(was != now for was, now in zip(before, shots(), strict=True))


@pytest.mark.slow
def test_on_a_phone_the_images_begin_on_the_first_screen(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    page = lab(open_page, runs[0], width=390, height=844)
    box = page.locator(".timeline-card canvas").first.bounding_box()
    assert box is not None and box["y"] < 0.6 * 844
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Set up", exact=True).click()
    page.get_by_role("tab", name="Augmentation", exact=True).click()
    expect(page.get_by_label("Mixup α", exact=True)).to_be_visible()


def test_the_numbers_are_those_of_the_playhead(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    page = lab(open_page, runs[0])
    accuracy = page.locator(".curves-numbers div").filter(has_text="Validation accuracy").locator("dd")
    count = len(runs[0].snapshots())
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {count} of {count}", timeout=WAIT_MS)
    evaluations = [
        record
        for record in map(json.loads, (runs[0].directory / "records.jsonl").read_text().splitlines())
        if record["kind"] == "evaluation" and record["split"] == "validation"
    ]
    last = percent(evaluations[-1]["accuracy"])
    expect(accuracy).to_have_text(last)
    page.get_by_label("Training step").focus()
    page.keyboard.press("Home")
    expect(accuracy).not_to_have_text(last)
    first = [record for record in evaluations if record["step"] == 0]
    expect(accuracy).to_have_text(percent(first[0]["accuracy"]) if first else "–")
    # The training loss is that of the drawn line, smoothed or not.
    loss = page.locator(".curves-numbers div").filter(has_text="Training loss").locator("dd")
    page.keyboard.press("End")
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {count} of {count}")
    records = map(json.loads, (runs[0].directory / "records.jsonl").read_text().splitlines())
    measured = [record["loss"] for record in records if record["kind"] == "step"][-1]
    show_settings(page)
    page.get_by_label("Smoothing").fill("0")
    expect(loss).to_have_text(f"{measured:.2f}")
    page.get_by_label("Smoothing").fill("0.9")
    expect(loss).not_to_have_text(f"{measured:.2f}")


@pytest.mark.slow
def test_a_zoom_is_read_and_left_by_keys_and_mouse(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    page = lab(open_page, runs[0])
    last = step_in(read_at(page, 1.0))
    box = page.locator(".curves-canvas").bounding_box()
    assert box is not None
    width = panel_px(page) - 124
    page.mouse.move(box["x"] + 40 + 0.5 * width, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 40 + width, box["y"] + 100, steps=4)
    page.mouse.up()
    whole = page.get_by_role("button", name="reset zoom")
    expect(whole).to_be_visible()
    assert step_in(read_at(page, 0.02)) >= last * 0.45
    page.locator(".curves-canvas").focus()
    page.keyboard.press("Escape")
    expect(whole).to_be_hidden()
    page.keyboard.press("+")
    expect(whole).to_be_visible()
    whole.click()
    assert step_in(read_at(page, 0.02)) < last * 0.1


@pytest.mark.slow
def test_runs_lie_over_one_another_and_the_best_is_named(open_page: OpenPage, runs: tuple[Run, Run]) -> None:
    quick, slow = runs
    page = open_page(
        f"live_lab?live_lab.run={slow.id}&model=run:{quick.id}", height=1800
    )  # both join the session
    page.get_by_label("Compare with").click()
    page.get_by_role("option", name="quick").click()
    canvas = page.locator(".curves-canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("slow validation accuracy .*quick validation"))
    expect(canvas).to_have_attribute("aria-label", re.compile("best validation accuracy: quick at step"))
    page.keyboard.press("Escape")
    text = read_at(page, 0.5)
    assert "slow: train loss" in text and "quick: validation accuracy" in text
    show_settings(page)
    page.get_by_role("button", name="seconds", exact=True).click()
    assert "quick: train loss" in read_at(page, 0.5)


@pytest.mark.slow
def test_a_click_on_the_curves_moves_the_timeline_and_keys_step_it(
    open_page: OpenPage, runs: tuple[Run, Run]
) -> None:
    run = runs[0]
    page = lab(open_page, run, **MOVING)
    steps = run.snapshots()
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {len(steps)} of {len(steps)}")
    canvas = page.locator(".curves-canvas")
    unmarked = canvas.screenshot()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 42, box["y"] + 100)
    expect(page.locator(".timeline-where")).to_contain_text(re.compile(r"^step [01] "))
    follow = page.get_by_role("button", name="follow the newest", exact=True)
    expect(follow).to_have_attribute("aria-pressed", "false")
    page.mouse.move(0, 0)
    wait_for(page, canvas.screenshot, unmarked.__ne__)  # the moment is marked

    track = page.get_by_label("Training step")
    track.focus()
    page.keyboard.press("End")
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {len(steps)} of")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {len(steps) - 1} of")
    page.get_by_role("button", name="Previous snapshot").click()
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {len(steps) - 2} of")

    track_box = track.bounding_box()
    assert track_box is not None
    y = track_box["y"] + track_box["height"] / 2
    page.mouse.move(track_box["x"] + track_box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(track_box["x"] + 2, y, steps=8)
    page.mouse.up()
    expect(page.locator(".timeline-where")).to_contain_text("step 0 ")

    page.get_by_role("button", name="▶ Play").click()
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {len(steps)} of", timeout=WAIT_MS)
    expect(page.get_by_role("button", name="▶ Play")).to_be_visible()  # it stops at the end


@pytest.mark.slow
def test_a_popover_that_opens_late_shows_what_the_form_says(open_page: OpenPage) -> None:
    page = open_page("live_lab?live_lab.weight_decay=0.2")
    page.get_by_role("button", name="Set up", exact=True).click()
    page.get_by_label("Seed", exact=True).fill("7")
    page.get_by_label("Seed", exact=True).press("Enter")
    page.wait_for_url(re.compile("live_lab.seed=7"), timeout=WAIT_MS)  # a run of the script between
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Set up", exact=True).click()
    page.get_by_role("tab", name="Optimizer").click()
    for label, value in (("Learning rate", "0.003"), ("Weight decay", "0.2"), ("Warm-up fraction", "0.1")):
        expect(page.get_by_label(label, exact=True)).to_have_value(value)
    expect(page.get_by_role("switch", name="Train the patch embedding")).to_be_checked()
    page.get_by_label("Learning rate", exact=True).fill("0.002")
    page.get_by_label("Learning rate", exact=True).press("Enter")
    page.wait_for_url(re.compile("live_lab.learning_rate=0.002"), timeout=WAIT_MS)
    assert "live_lab.weight_decay=0.2&" in page.url + "&" and "warmup" not in page.url
    page.get_by_role("tab", name="Model", exact=True).click()
    expect(page.get_by_label("Width D", exact=True)).to_have_value("48")
    expect(page.get_by_label("MLP ratio", exact=True)).to_have_value("4")


LOSE = """async () => {
  const [{ name }] = performance.getEntriesByType('resource').filter((entry) => entry.name.endsWith('flip_book.js'));
  const { bound } = await import(name);
  const nothing = { shape: [0, 0], data: new Uint8Array() };
  const header = { shelf: 'another', fresh: [], pictures: [], bases: [], steps: [] };
  bound({ header, arrays: { pages: nothing, data: nothing } });
}"""


@pytest.mark.slow
def test_a_reload_and_a_browser_that_has_lost_leaves_get_all_again(
    open_page: OpenPage, runs: tuple[Run, Run]
) -> None:
    page = lab(open_page, runs[0])
    count = len(runs[0].snapshots())
    whole = re.compile(f"snapshot {count} of {count}")
    attention = page.locator(".timeline-card canvas").first
    expect(page.locator(".timeline-where")).to_have_text(whole, timeout=WAIT_MS)
    drawn = attention.screenshot()
    page.wait_for_timeout(2500)  # leaves that have settled travel no more
    for lose in (False, True):
        choose_in_menu(page, "filters")
        expect(page.locator(".timeline-where")).to_have_count(0, timeout=WAIT_MS)
        if lose:
            page.evaluate(LOSE)
        choose_in_menu(page, "live_lab")
        expect(page.locator(".timeline-where")).to_have_text(whole, timeout=WAIT_MS)
        wait_for(page, attention.screenshot, drawn.__eq__)
    page.reload()
    expect(page.locator(".timeline-where")).to_have_text(whole, timeout=WAIT_MS)
    wait_for(page, attention.screenshot, drawn.__eq__)


@pytest.mark.slow
def test_every_mistake_is_shown_by_its_pair_and_follows_the_timeline(
    open_page: OpenPage, runs: tuple[Run, Run]
) -> None:
    run = runs[1]
    page = open_page(f"live_lab?live_lab.run={run.id}&live_lab.mistakes=1", height=2400)
    count = len(run.snapshots())
    expect(page.locator(".timeline-where")).to_contain_text(f"snapshot {count} of {count}", timeout=WAIT_MS)
    choice, tiles = page.get_by_label("Mistakes shown"), page.locator(".mistakes-tile")
    pair = choice.locator("option").nth(1).inner_text()
    found = re.fullmatch(r"(\d) predicted as (\d) \((\d+)\)", pair)
    assert found is not None, pair
    choice.select_option(index=1)
    expect(tiles).to_have_count(min(36, int(found[3])))
    expect(tiles.first).to_contain_text(f"{found[1]} → {found[2]}")
    note = page.locator(".timeline-row .timeline-note")
    newest = note.inner_text()
    page.get_by_label("Training step").focus()
    page.keyboard.press("Home")
    expect(note).not_to_have_text(newest)
    expect(note).to_contain_text(re.compile(r"\b\d+ of \d+ "))
