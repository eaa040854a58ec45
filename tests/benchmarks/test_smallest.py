"""Benchmarks run at their smallest size, and leave their tables as they were."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.browser.conftest import chromium_path
from vitviz.data.dataset import Dataset
from vitviz.data.dataset_cache import write_dataset

pytestmark = pytest.mark.slow  # minutes on a busy machine
ROOT = Path(__file__).resolve().parents[2]
TRAIN, TEST = 2_560, 64  # images: ten batches of 256, more than are run to warm up

# Each benchmark's own smallest size; {out} is a folder of the test. One thread: two threads of a benchmark that runs
# beside other tests spend its time in waiting for each other.
SMALLEST = {
    "attention_capture": "--small --threads 1",
    "attacker": "--small",
    "attention_distance": "--small",
    "batch_attention": "--images 2 --rounds 1",
    "config_keys": "--out {out}/table.md",
    "attention_first": "--rounds 1 --threads 1 --out {out}/table.md",
    "class_of_hundred": "--small",
    "classroom": "--small",
    "distillation": "--small",
    "page_runs": "--small",
    "positions_race": "--datasets shapes --epochs 0.02 --out {out}/race.json",
    "rerun_functions": "--small",
    "resize_accuracy": "--small",
    "recorder_cost": "--steps 2 --images 1",
    "records/records": "--small --out {out}",
    "similarity_grid": "--repeats 1",
    "surprises": "",
    "time_to_accuracy": "--small",
    "train_step": "--small --threads 1",
    "verdicts": "--experiments 2 --out {out}/table.md",
    "window_cost": "--small",
}
IN_BROWSER = {
    "attention_repaint": "--moves 3 --out {out}/table.md",
    "drawing": "--small",
    "engine": "",
    "first_look": "--small",
    "first_paint": "--small",
    "first_screen": "--small",
    "kept_picture": "--fresh --pages lessons --sections --limit 60000",
    "layout_shift": "--pages lessons",
    "live_updates": "--small",
    "message_bytes": "--small",
    "play_frames": "--small",
    "similarity_grid": "--repeats 1 --browser",
    "site": "--small",
}
NOT_RUN = {
    "lines": "reads the history, which a shallow clone lacks",
    "surprises_packages": "needs packages that no other test installs",
    "surprises_photo_model": "evaluates the photo model many times over",
    "surprises_trained": "trains for hours on a dataset that is no part of the project",
    "timm_models": "writes a table of the source",
}


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 'mnist' and 'cifar10' of noise: what is timed does not depend on what is seen."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for name, shape in (("mnist", (28, 28, 1)), ("cifar10", (32, 32, 3))):
        images = rng.integers(0, 256, (TRAIN + TEST, *shape), np.uint8)
        labels = np.arange(TRAIN + TEST) % 10
        classes = tuple(f"class {i}" for i in range(10))
        made = Dataset(name, images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:], classes)
        write_dataset(made, folder / f"{name}.npz")
    return folder


def run(name: str, arguments: str, data: Path, out: Path) -> None:
    kept = [*(ROOT / "benchmarks").rglob("*.md"), ROOT / "checkpoints" / "positions_race.json"]
    before = {path: path.read_bytes() for path in kept}
    done = subprocess.run(
        [sys.executable, f"benchmarks/{name}.py", *arguments.format(out=out).split()],
        cwd=ROOT,
        env={**os.environ, "VITVIZ_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path: path.read_bytes() for path in kept} == before


@pytest.mark.parametrize("name", SMALLEST)
def test_a_benchmark_runs(name: str, noise: Path, tmp_path: Path) -> None:
    run(name, SMALLEST[name], noise, tmp_path)


@pytest.mark.browser
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("name", IN_BROWSER)
def test_a_benchmark_in_the_browser_runs(name: str, noise: Path, tmp_path: Path) -> None:
    run(name, IN_BROWSER[name], noise, tmp_path)


def test_every_benchmark_has_its_smallest_size() -> None:
    folder = ROOT / "benchmarks"
    scripts = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.py")}
    assert scripts == SMALLEST.keys() | IN_BROWSER.keys() | NOT_RUN.keys()
