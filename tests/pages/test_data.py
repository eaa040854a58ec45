"""Test the study of dataset sizes: its page against its file of results, and a user's own race among its points."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp, captions
from vitviz.experiments import result_file as results
from vitviz.experiments.data_size import GRIDS, TITLES, race
from vitviz.experiments.result_file import Made, Result, write_result
from vitviz.training.run_directory import Run

PAGE = "pages/studies/data/page.py"


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A small grid of digits, of numbers that nobody could have fixed in a caption."""
    rows = []
    for model, few, many in (*((name, 0.5, 0.6) for name in TITLES if name != "cnn"), ("cnn", 0.8123, 0.9)):
        for images, test in ((50, few), (1295, many)):
            for seed, augmented in ((0, True), (1, True), (0, False), (1, False)):
                reached = round(test + 0.01 * seed, 4)
                curve = [[200, 2.0, reached / 2], [400, 4.0 + seed, reached]]
                row = {
                    "model": model,
                    "pictures": images,
                    "augmented": augmented,
                    "seed": seed,
                    "test": reached,
                }
                rows.append(
                    {**row, "training_core_s": 4.0 + seed, "curve": curve, "core_seconds": 5.0, "made": 0}
                )
    settings = {"dataset": "digits", "updates": 400, "batch_size": 64, "parameters": {"cnn": 7, "vit": 9}}
    made = (Made("abc", "2026-11-22", "a machine"),)
    found = Result("data_size_digits", "Digits", "python -m x", settings, made, tuple(rows))
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    write_result(found)
    return found


def open_study(open_app: OpenApp, view: str = "sizes", **query: str) -> AppTest:
    return open_app(PAGE, **{"data.view": view, "data.dataset": "digits", **query})


def test_a_folder_without_results_is_told(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "nothing")
    app = open_study(open_app)
    assert not app.exception
    assert any("python -m vitviz.experiment data_size_digits" in info.value for info in app.info)


def test_the_showings_are_of_the_set_or_said_not_to_be(
    open_app: OpenApp, stored: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(replace(stored, name="data_size_cifar10"))
    monkeypatch.setenv("VITVIZ_DATA", "/nowhere")
    assert "'Digits'" in captions(open_study(open_app, "augmented"))
    text = captions(open_study(open_app, "augmented", **{"data.dataset": "cifar10"}))
    assert re.search(r"'CIFAR-10 \(sample\)'[^.]* CIFAR-10 ", text)


@pytest.mark.usefixtures("stored")
def test_a_sessions_own_race_stands_among_the_points(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.stores import runs

    run = Run.create(runs.get_folder(), race("digits", 50))
    for member in run.members():
        record = {"kind": "evaluation", "split": "test", "step": 400, "epoch": 1.0, "seconds": 1.0}
        whole = {**record, "accuracy": 0.765, "loss": 1.0, "images": 359, "confusion": []}
        (member.directory / "records.jsonl").write_text(json.dumps(whole) + "\n")
    monkeypatch.setattr(runs, "list_runs", lambda session: [run])
    text = captions(open_study(open_app))
    assert re.search(r"Star: your CNN, 76\.5 % with 50 \w+ \(stored 81\.7 %\)", text)
    assert "Star:" not in captions(open_study(open_app, **{"data.equal": "time"}))


def test_the_labs_form_is_the_grids_recipe(open_app: OpenApp) -> None:
    app = open_app("pages/train/lab/page.py", **{"live_lab.train": "data", "live_lab.race_pictures": "50"})
    assert not app.exception
    text = captions(app)
    assert re.search(r"4 models [^.]*\(CNN, Hybrid, Swin, ViT\); [\d,]+ to [\d,]+ parameters", text)
    assert f"{GRIDS['digits'].updates} updates each" in text
