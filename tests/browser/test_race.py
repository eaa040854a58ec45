"""Five models race in one run: started by a click, drawn while they train, and each opened in a lens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from vitviz.experiments.data_size import RACERS, TITLES
from vitviz.text import percent
from vitviz.training.position_race import CODES

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
TRAINING_MS = 240_000  # a machine that does much else is slow, not wrong
TINY = "live_lab?live_lab.train=experiment&live_lab.race=digits&live_lab.race_epochs=1"


@pytest.mark.alone
def test_five_codes_race_and_one_is_looked_into(open_page: OpenPage) -> None:
    page = open_page(TINY, height=1600)
    page.get_by_role("button", name="Start training").click()
    race = page.locator("[data-component=race]")
    expect(race).to_have_attribute("data-ready", "true", timeout=TRAINING_MS)
    curves, pairs = race.locator(".ch-canvas").all()
    for title in CODES.values():  # measured before the first step already
        expect(pairs).to_have_attribute(
            "aria-label", re.compile(rf"{title}: [\d.]+\s%, shuffled"), timeout=TRAINING_MS
        )
    badge = page.locator('[data-testid="stMain"] .stMarkdownBadge').filter(has_text="done")
    expect(badge).to_be_visible(timeout=TRAINING_MS)
    expect(race.get_by_text(re.compile(r"359 .*1\.04 epochs"))).to_be_visible(timeout=TRAINING_MS)

    curves.focus()
    page.keyboard.press("End")
    returned = race.locator(".vv-live").first
    for title in CODES.values():
        expect(returned).to_contain_text(re.compile(rf"{title} [\d.]+\s%"))

    page.get_by_role("radio", name=re.compile("^\u2060?No positions")).click()
    card = page.locator(".timeline-card").filter(has_text="Attention of the selected")
    expect(card).to_be_visible(timeout=TRAINING_MS)
    track = page.get_by_label("Training step")
    expect(track).to_be_enabled(timeout=TRAINING_MS)
    page.wait_for_url(re.compile(r"live_lab\.member=none"), timeout=TRAINING_MS)
    card.get_by_role("button", name="open").click()
    expect(page.locator("h1")).to_have_text("Attention", timeout=TRAINING_MS)
    page.wait_for_url(re.compile(r"attention\?model=run%3A[\w-]+%2Fnone&step=\d+&"), timeout=TRAINING_MS)


def test_the_measured_race_opens_the_live_one(open_page: OpenPage) -> None:
    page = open_page(
        "positions?model=preset:vit_digits&image=digits:3&positions.view=matter&positions.dataset=digits&experiments.positions_guess=shown",
        width=390,
    )
    expect(page.locator("[data-component=race]")).to_have_attribute("data-ready", "true", timeout=TRAINING_MS)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("link", name="Train these models live").click()
    expect(page.locator("h1")).to_have_text("Live lab", timeout=TRAINING_MS)
    page.get_by_role("button", name="Set up", exact=True).click()
    expect(page.get_by_role("radio", name=re.compile("do positions matter"))).to_be_checked(
        timeout=TRAINING_MS
    )
    expect(page.get_by_role("radio", name="Digits")).to_be_checked()


@pytest.mark.slow  # a minute of two cores: .ci/run leaves it to `pytest --slow`
def test_a_data_race_runs_to_its_end_and_its_points_are_the_runs_own(
    open_page: OpenPage, runs_folder: Path
) -> None:
    page = open_page("live_lab?live_lab.train=data&live_lab.race_pictures=50", height=1600)
    page.get_by_role("button", name="Start training").click()
    beside = page.get_by_role("link", name="Compare with the stored results")
    expect(beside).to_be_visible(timeout=2 * TRAINING_MS)  # four models, 400 updates each
    (config,) = [file for file in runs_folder.glob("*/config.json") if '"data_race"' in file.read_text()]
    measured = {}
    for name in RACERS:
        records = (config.parent / "members" / name / "records.jsonl").read_text().splitlines()
        found = [record for record in map(json.loads, records) if record["kind"] == "evaluation"]
        measured[name] = next(record["accuracy"] for record in found if record["split"] == "test")
    beside.click()
    expect(page.locator("h1")).to_have_text("How much data?", timeout=TRAINING_MS)
    for name, accuracy in measured.items():
        star = re.compile(rf"{TITLES[name]}, {percent(accuracy)} with 50 images")
        expect(page.get_by_text(star)).to_be_visible(timeout=TRAINING_MS)
