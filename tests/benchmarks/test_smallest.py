"""Benchmarks run at their smallest size, and leave their tables as they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import chromium_path

pytestmark = pytest.mark.slow  # minutes on a busy machine
ROOT = Path(__file__).resolve().parents[2]
IN_BROWSER = ("first_paint", "live_updates")
SMALL = ("attention_distance", "distillation", "resize_accuracy", "window_cost")


def run(name: str) -> None:
    before = {path: path.read_bytes() for path in (ROOT / "benchmarks").glob("*.md")}
    done = subprocess.run(
        [sys.executable, f"benchmarks/{name}.py", "--small"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path: path.read_bytes() for path in (ROOT / "benchmarks").glob("*.md")} == before


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs(name: str) -> None:
    run(name)


@pytest.mark.browser
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("name", IN_BROWSER)
def test_a_benchmark_in_the_browser_runs(name: str) -> None:
    run(name)
