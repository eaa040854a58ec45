"""Names out of a stranger's archive are shown as text: no page draws their images, links or formatting."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import lead, open_drawers
from tests.hostile import strangers_run
from tests.unit.training_helpers import digits_run
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# What draws by itself, in a view's code; tests/pages/test_hostile_words.py reads what Streamlit draws, on
# every page in every view.
ADDRESSES = (
    "",
    "patches",
    "filters",
    "positions",
    "block",
    "attention",
    *(f"attention?attention.view={view}" for view in ("methods", "ablate", "depth", "truth")),
    "attention_distance",
    "layers",
    "two_images",
    "studies?studies.study=data_size",
    "live_lab",
    "swin",
    "distillation",
)
FOUND = """() => [...document.querySelectorAll('img, a, source, iframe')]
  .map((part) => `${part.tagName} ${part.src || part.href?.baseVal || part.href || ''}`)
  .filter((said) => said.includes('evil.test'))
  .concat([...document.querySelectorAll('strong, b, em, tspan[style*=bold]')]
    .filter((part) => part.textContent === 'bold').map((part) => part.outerHTML))"""


@pytest.fixture(scope="module")
def hostile(runs_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    source = digits_run(tmp_path_factory.mktemp("stranger"), epochs=1)
    Session(source, "cpu").perform()
    return strangers_run(source, runs_folder)


def test_no_page_draws_what_a_name_says(open_page: Callable[..., Page], hostile: Run) -> None:
    page = open_page(f"?model=run:{hostile.id}")
    found = {}
    for address in ADDRESSES:
        joined = "&" if "?" in address else "?"
        lead(page, f"{address}{joined}model=run:{hostile.id}")
        if address.startswith("attention?") or address in ("", "attention", "live_lab"):
            expect(page.get_by_text(re.compile("evil.test")).first).to_be_attached()  # it is shown, as text
        if address in ("", "block", "live_lab"):
            open_drawers(page)
        found[address] = page.evaluate(FOUND)
    assert not any(found.values()), found
