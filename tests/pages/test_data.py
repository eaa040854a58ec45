"""Test the study of dataset sizes: its page against its file of results, and a user's own race among its points."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.studies import data_size, published_sizes
from tests.messages import charts
from tests.pages.conftest import OpenApp, said
from tests.pages.test_drawers import CODE, MATH, NUMBERS, open_drawers
from tests.pages.told import words
from vitviz.experiments import result_file as results
from vitviz.experiments.data_size import GRIDS, TITLES, race
from vitviz.experiments.result_file import Made, Result, write_result
from vitviz.training.run_directory import Run

PAGE = "pages/studies/data/page.py"
GUESSED = {f"data.{key}": "shown" for key in ("guess", "time_guess", "gain_guess")}
SHIPPED = sorted(results.RESULTS.glob("data_size_*.json"))


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A small grid of digits, of numbers that nobody could have fixed in a caption."""
    rows = []
    for model, few, many in (("cnn", 0.8123, 0.9), ("vit", 0.4567, 0.9345)):
        for pictures, test in ((50, few), (1295, many)):
            for seed in (0, 1):
                reached = round(test + 0.01 * seed, 4)
                curve = [[200, 2.0, reached / 2], [400, 4.0 + seed, reached]]
                row = {"model": model, "pictures": pictures, "augmented": True, "seed": seed, "test": reached}
                rows.append(
                    {**row, "training_core_s": 4.0 + seed, "curve": curve, "core_seconds": 5.0, "made": 0}
                )
    settings = {"updates": 400, "batch_size": 64, "parameters": {"cnn": 7, "vit": 9}}
    made = (Made("abc", "2026-11-22", "a machine"),)
    found = Result("data_size_digits", "Digits", "python -m x", settings, made, tuple(rows), 3)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    write_result(found)
    return found


def open_study(open_app: OpenApp, view: str = "sizes", **query: str) -> AppTest:
    return open_app(PAGE, **{"data.view": view, "data.dataset": "digits", **query})


def captions(app: object) -> str:
    text = " ".join(caption.value for caption in app.main.caption)  # type: ignore[attr-defined]
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.usefixtures("stored")
def test_the_caption_says_what_the_file_holds(open_app: OpenApp) -> None:
    app = open_study(open_app, **GUESSED)
    assert not app.exception
    text = captions(app)
    assert re.search(r"CNN [^.]*\b50 [^%]*81\.7 %", text)
    assert re.search(r"ViT [^.]*1,295 [^%]*94\.0 %", text)
    assert "3 of 11" in text and "python -m x" in text
    assert "Hybrid, Swin and DeiT with 50 and 1,295;" in text and "100, 200" in text
    timed = open_study(open_app, **GUESSED, **{"data.equal": "time"})
    assert not timed.exception
    assert re.search(r"CNN [^.]*\b50 [^%]*\d %", captions(timed))


@pytest.mark.parametrize("view", ["time", "augmented", "papers"])
@pytest.mark.usefixtures("stored")
def test_every_view_opens(open_app: OpenApp, view: str) -> None:
    app = open_study(open_app, view)
    assert not app.exception
    assert captions(app)


def test_a_folder_without_results_is_told(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "nothing")
    app = open_study(open_app)
    assert not app.exception
    assert any("python -m vitviz.experiment data_size_digits" in info.value for info in app.info)


@pytest.mark.usefixtures("stored")
def test_the_numbers_are_those_of_the_file(open_app: OpenApp, stored: Result) -> None:
    app = open_study(open_app, **GUESSED)
    assert open_drawers(app) == [MATH, CODE, NUMBERS]
    table = app.main.dataframe[0].value
    for _, line in table.iterrows():
        name = {"CNN": "cnn", "ViT": "vit"}[line["model"]]
        tests = [row["test"] for row in stored.where(model=name, pictures=line["images"])]
        assert line["mean"] == pytest.approx(sum(tests) / len(tests))
        assert (line["lowest"], line["highest"], line["seeds"]) == (min(tests), max(tests), len(tests))


def test_a_race_says_how_long_its_models_trained_and_nothing_where_one_did_not(stored: Result) -> None:
    assert data_size.sum_race_seconds(stored, True) is None  # hybrid and Swin are missing
    rows = [*stored.rows, *({**row, "model": name} for name in ("hybrid", "swin") for row in stored.rows)]
    assert data_size.sum_race_seconds(replace(stored, rows=tuple(rows)), True) == pytest.approx(4 * 4.5)
    assert data_size.sum_race_seconds(stored, False) is None


@pytest.mark.usefixtures("stored")
def test_a_guess_comes_before_the_curves(open_app: OpenApp) -> None:
    app = open_study(open_app)
    assert "81.7 %" not in captions(app)
    assert set(lines_of(app)) == {"CNN", "ViT"} and not any(lines_of(app).values())
    (figure,) = charts(app)
    low, high = (trace for trace in figure["data"] if trace["mode"] == "lines")
    assert low["y"] == pytest.approx([46.17, 90.5]) and high["y"] == pytest.approx([81.73, 93.95])
    app.main.button_group(key="data.guess.row").set_value("vit").run()
    assert any(re.search(r"prediction: ViT\b.*CNN.*35\.6", line.value) for line in app.main.markdown)
    assert said(app, "data.guess") == "vit" and all(x == [50, 1295] for x in lines_of(app).values())
    again = open_study(open_app, **{"data.guess": "cnn"})
    assert any(re.search(r"prediction: CNN\b.*CNN.*35\.6", line.value) for line in again.main.markdown)
    assert "81.7 %" in captions(open_study(open_app, **{"data.guess": "cnn", "data.augmented": "1"}))


def test_a_set_is_one_click_away_and_asks_its_own_question(open_app: OpenApp, stored: Result) -> None:
    """MNIST in its first hour: one seed of three models at one size."""
    rows = [
        {**row, "model": model, "seed": 0, "test": test}
        for model, test in (("cnn", 0.71), ("hybrid", 0.71), ("vit", 0.52))
        for row in stored.where(model="cnn", pictures=50, seed=0)
    ]
    write_result(replace(stored, name="data_size_mnist", rows=tuple(rows), missing=177))
    app = open_study(open_app, **{"data.guess": "vit"})
    assert any(re.search(r"prediction: ViT\b.*35\.6", line.value) for line in app.main.markdown)
    app.main.button_group(key="data.dataset").set_value("mnist").run()
    assert not app.exception and not any(lines_of(app).values())
    assert "71.0 %" not in captions(app)
    app.main.button_group(key="data.guess.row").set_value("hybrid").run()
    assert any(re.search(r"prediction: Hybrid\b.*CNN", line.value) for line in app.main.markdown)
    assert lines_of(app) == {"CNN": [50], "Hybrid": [50], "ViT": [50]}
    text = captions(app)
    assert re.search(r"CNN and Hybrid [^.]*\b50 [^%]*71\.0 %", text)
    assert "Swin and DeiT with 50;" in text and "250, 1,000" in text
    assert not open_study(open_app, "time", **{"data.dataset": "mnist"}).exception


def test_the_showings_are_of_the_set_or_said_not_to_be(
    open_app: OpenApp, stored: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(replace(stored, name="data_size_cifar10"))
    monkeypatch.setenv("VITVIZ_DATA", "/nowhere")
    assert "'Digits'" in captions(open_study(open_app, "augmented"))
    text = captions(open_study(open_app, "augmented", **{"data.dataset": "cifar10"}))
    assert re.search(r"'CIFAR-10 \(sample\)'[^.]* CIFAR-10 ", text)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.parametrize("view", ["sizes", "time", "augmented"])
def test_every_number_that_is_drawn_or_said_is_in_its_file(open_app: OpenApp, path: Path, view: str) -> None:
    name = path.stem.removeprefix("data_size_")
    stored = results.read_result(path.stem)
    rows = [row | {"on": stored.made[row["made"]].machine} for row in stored.rows if "test" in row]
    app = open_study(open_app, view, **GUESSED, **{"data.dataset": name, "data.equal": "updates"})
    figures = charts(app)
    whole = [trace for figure in figures for trace in figure["data"] if trace["mode"] == "lines+markers"]
    wanted = numbers_of(rows, view)
    assert bool(whole) == bool(wanted)
    for trace in whole:
        drawn = [y for y in trace["y"] if y is not None]
        assert drawn == pytest.approx(wanted[trace["name"]], abs=1e-6)
        if all(row["seed"] == 0 for row in rows):
            assert "error_y" not in trace  # of one seed no spread can be drawn
    known = {f"{y:.1f}" for ys in wanted.values() for y in ys}
    shares = [] if view == "augmented" else re.findall(r"(\d+\.\d) %", words(app))
    assert {*shares} <= known


def numbers_of(rows: list[dict[str, Any]], view: str) -> dict[str, list[float]]:
    """What a view draws, computed without the project's own means: by title, in percent or points."""
    augmented = any(row["augmented"] for row in rows)
    found: dict[str, list[float]] = {}
    for name, title in TITLES.items():
        own = [row for row in rows if row["model"] == name]
        half = [row for row in own if row["augmented"] == augmented]
        if view == "sizes":
            by = {
                n: [100 * r["test"] for r in half if r["pictures"] == n]
                for n in sorted({r["pictures"] for r in half})
            }
            values = [sum(tests) / len(tests) for tests in by.values()]
        elif view == "time":
            most = max(row["pictures"] for row in rows if row["augmented"] == augmented)
            there = [row for row in rows if (row["augmented"], row["pictures"]) == (augmented, most)]
            by_on = {on: [row for row in there if row["on"] == on] for on in {row["on"] for row in there}}
            kept = max(by_on.values(), key=lambda own: (len({row["model"] for row in own}), len(own)))
            curves = [row["curve"] for row in kept if row["model"] == name]
            values = [100 * sum(point[2] for point in at) / len(at) for at in zip(*curves, strict=True)]
        else:
            pairs: dict[int, list[float]] = {}
            for row in own:
                for plain in own:
                    same = row["pictures"] == plain["pictures"] and row["seed"] == plain["seed"]
                    if same and row["augmented"] and not plain["augmented"]:
                        pairs.setdefault(row["pictures"], []).append(100 * (row["test"] - plain["test"]))
            values = [sum(pairs[n]) / len(pairs[n]) for n in sorted(pairs)]
        if values:
            found[title] = values
    return found


def lines_of(app: AppTest) -> dict[str, list[int]]:
    """Where the points of every line stand."""
    (figure,) = charts(app)
    return {
        trace["name"]: [x for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None]
        for trace in figure["data"]
        if trace["mode"] == "lines+markers"
    }


@pytest.mark.usefixtures("stored")
def test_a_visits_own_race_stands_among_the_points(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.stores import runs

    run = Run.create(runs.get_folder(), race("digits", 50))
    for member in run.members():
        record = {"kind": "evaluation", "split": "test", "step": 400, "epoch": 1.0, "seconds": 1.0}
        whole = {**record, "accuracy": 0.765, "loss": 1.0, "images": 359, "confusion": []}
        (member.directory / "records.jsonl").write_text(json.dumps(whole) + "\n")
    monkeypatch.setattr(runs, "list_runs", lambda visit: [run])
    text = captions(open_study(open_app))
    assert re.search(r"Star: your CNN, 76\.5 % with 50 \w+ \(stored 81\.7 %\)", text)
    assert "Star:" not in captions(open_study(open_app, **{"data.equal": "time"}))


def test_the_cited_numbers_say_what_the_caption_says() -> None:
    text = f"{published_sizes.describe_leaders()} {published_sizes._compare_sizes('ViT-L/16', 'ViT-B/16')}"
    assert re.search(r"ImageNet-1k .*ViT-B/16\D* 3\.4 points below .*ViT-H/14\D* 0\.5 points above", text)
    assert re.search(r"ViT-L/16 .*above ViT-B/16 .*ImageNet-21k and JFT-300M, .*below .*ImageNet-1k\.$", text)


def test_the_labs_form_is_the_grids_recipe(open_app: OpenApp) -> None:
    app = open_app("pages/train/lab/page.py", **{"live_lab.train": "data", "live_lab.race_pictures": "50"})
    assert not app.exception
    text = captions(app)
    assert re.search(r"4 models [^.]*\(CNN, Hybrid, Swin, ViT\); [\d,]+ to [\d,]+ parameters", text)
    assert f"{GRIDS['digits'].updates} updates each" in text


def test_trainings_that_end_when_validation_stops_improving_come_first(open_app: OpenApp) -> None:
    stored = results.read_result("early_stopping_cifar10")
    app = open_study(open_app, **GUESSED, **{"data.dataset": "cifar10"})
    for title, sizes in lines_of(app).items():
        name = {title: name for name, title in TITLES.items()}[title]
        assert sizes == sorted({row["pictures"] for row in stored.where(model=name)})
    text = captions(app)
    tests = {
        name: mean(row["test"] for row in stored.where(model=name, pictures=250)) for name in ("cnn", "vit")
    }
    assert f"+{100 * (tests['cnn'] - tests['vit']):.1f} points with 250 images" in text
    limits = sum(row["ceiling_hit"] for row in stored.rows)
    assert f"{limits} runs reached this limit" in text
