"""Names out of a stranger's archive are shown as text: no page draws their pictures, links or formatting."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import lead, open_drawers
from tests.unit.training_helpers import digits_run
from vitviz.checkpoints import load_checkpoint, save_checkpoint
from vitviz.training.archive import export_run, import_run
from vitviz.training.runs import Run
from vitviz.training.session import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = '<img src="//evil.test/x"> ![p](//evil.test/y) [link](//evil.test) **bold** $x$ :red[r]'
PAGES = (
    "",
    "patches",
    "filters",
    "positions",
    "block",
    "attention",
    "attention?attention.view=methods",
    "attention?attention.view=ablate",
    "attention_distance",
    "layers",
    "data",
    "live_lab",
    "swin",
    "distillation",
)
FOUND = """() => [...document.querySelectorAll('img, a, source, iframe')]
  .map((part) => `${part.tagName} ${part.src || part.href || ''}`).filter((said) => said.includes('evil.test'))
  .concat([...document.querySelectorAll('strong, b, em')].filter((part) => part.textContent === 'bold')
  .map((part) => part.outerHTML))"""


@pytest.fixture(scope="module")
def strangers_run(runs_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose own name, card and classes are all hostile, as an archive brings it."""
    source = digits_run(tmp_path_factory.mktemp("stranger"), epochs=1)
    Session(source, "cpu").perform()
    for path in (source.directory / "snapshots").glob("*.safetensors"):
        found = load_checkpoint(path)
        classes = tuple(f"{i} {HOSTILE}" for i in range(len(found.classes)))
        save_checkpoint(path, replace(found, classes=classes, card={**found.card, "title": HOSTILE}))
    source.rename(HOSTILE)
    runs_folder.mkdir(parents=True, exist_ok=True)
    return import_run(runs_folder, export_run(source), owner="somebody else's")


def test_no_page_draws_what_a_name_says(visit: Callable[..., Page], strangers_run: Run) -> None:
    page = visit(f"?model=run:{strangers_run.id}")
    found = {}
    for address in PAGES:
        joined = "&" if "?" in address else "?"
        lead(page, f"{address}{joined}model=run:{strangers_run.id}")
        if address.startswith("attention"):
            expect(page.get_by_text(re.compile("evil.test")).first).to_be_attached()  # it is shown, as text
        if address in ("", "block", "live_lab"):
            open_drawers(page)
        found[address] = page.evaluate(FOUND)
    assert not any(found.values()), found
