"""Test the experiments page: its numbers are those of its result files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Dataframe

from pages.studies import positions
from pages.studies.hyperparameter import DIFFERENCE
from tests.messages import charts, message
from tests.pages.conftest import ROOT, OpenApp
from tests.pages.test_drawers import CODE, MATH, NUMBERS, open_drawers
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import TrainConfig
from vitviz.data.datasets import DATASETS
from vitviz.experiments import bugs
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result_file import read_result, read_result_if_any
from vitviz.lessons.experiment_measures import select_bug_rows, select_hyperparameter_rows
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.papers import find_findings
from vitviz.text import gained, percent

PAGE = "pages/studies/page.py"
GUESSED = {f"experiments__{key}_guess": "shown" for key in ("knob", "slip", "gradient", "norm", "positions")}


def opened(open_app: OpenApp, study: str, **more: str) -> AppTest:
    asked = {"model": "preset:vit_digits", "image": "digits:3", **GUESSED, **more}
    app = open_app(PAGE, studies__study=study, **asked)
    assert not app.main.error
    return app


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.main.caption).replace("\N{NO-BREAK SPACE}", " ")


def spaced(share: float, digits: int = 2) -> str:
    """Return a share as captions() has it, with a plain space."""
    return percent(share, digits).replace("\N{NO-BREAK SPACE}", " ")


def written(table: Dataframe, name: str) -> list[str]:
    """What stands in a column for its numbers."""
    return list(convert_arrow_bytes_to_pandas_df(table.proto.arrow_data.styler.display_values)[name])


def view(app: AppTest, key: str) -> dict[str, Any]:
    header, _ = message(app, key)
    return header


def test_every_seed_of_a_knob_on_the_page_stands_in_the_file(open_app: OpenApp) -> None:
    found = read_result("one_knob_digits")
    for name in ("optimizer",):  # the page draws all alike; `test_stored_changes` counts each
        app = opened(open_app, "hyperparameter", experiments__knob=name)
        by_value = select_hyperparameter_rows(found, name)
        tests = {
            HYPERPARAMETERS[name].label(value): [row["test"] for row in rows if "test" in row]
            for value, rows in by_value.items()
        }
        shown = {
            racer["title"]: racer["dots"] for racer in view(app, "studies.hyperparameter.race")["racers"]
        }
        assert shown == tests
        best = max((value for value in tests if tests[value]), key=lambda value: mean(tests[value]))
        text = captions(app)
        assert f"'{best}' with {spaced(mean(tests[best]))}" in text
        assert re.search(rf"of {sum(map(bool, tests.values()))}\b", text)
        assert found.made[0].commit in text and find_findings(f"hyperparameter.{name}") in text
        open_drawers(app)
        (table,) = app.main.dataframe
        against = table.value[DIFFERENCE]
        assert written(table, DIFFERENCE) == ["–" if value != value else gained(value) for value in against]
        assert written(table, "Mean") == [percent(value) for value in table.value["Mean"]]
        assert list(table.value["Value"]) == list(tests)
        for title, value in zip(table.value["Value"], table.value["Mean"], strict=True):
            assert not tests[title] or value == pytest.approx(mean(tests[title]))


@pytest.mark.parametrize("dataset", bugs.SEEDS)
def test_what_a_slip_costs_stands_in_the_file(open_app: OpenApp, dataset: str) -> None:
    found = read_result(f"one_slip_{dataset}")
    for name in ("mask",):  # the page draws all alike; `test_stored_changes` counts each
        slip = BUGS[name]
        app = opened(open_app, "bug", experiments__slip=name, experiments__slip_set=dataset)
        right, wrong = (select_bug_rows(found, key) for key in (f"{FIXED}:{slip.family}", name))
        if not (right and wrong):
            assert not app.main.get("bidi_component")
            continue
        reached = [mean(row["test"] for row in rows) for rows in (right, wrong)]
        assert re.search(rf"{spaced(reached[0])} without .*{spaced(reached[1])} with", captions(app))
        dots = [racer["dots"] for racer in view(app, "studies.bug.race")["racers"]]
        assert dots == [[row["test"] for row in rows] for rows in (right, wrong)]


def test_a_puzzle_tells_nothing_before_a_line_is_chosen(open_app: OpenApp) -> None:
    for number, slip in list(enumerate(BUGS.values(), start=1))[::4]:
        app = opened(open_app, "spot_the_bug", experiments__puzzle=str(number))
        words = captions(app) + " ".join(part.value for part in app.main.markdown)
        assert slip.title not in words and slip.why not in words
        (code,) = app.main.code
        assert [line[3:] for line in code.value.splitlines()] == list(slip.lines)
    wrong = next(line for line in range(len(slip.lines)) if line not in slip.wrong)
    for line, verdict in ((wrong, "wrong"), (slip.wrong[0], "right")):
        app = opened(open_app, "spot_the_bug", experiments__puzzle=str(number), experiments__line=str(line))
        assert f"line {line + 1}: {verdict}" in app.main.markdown[-1].value
        assert slip.why in captions(app) and slip.right.strip() in captions(app)


def test_a_puzzle_shows_the_set_that_tells_the_slip_from_the_mended_code(open_app: OpenApp) -> None:
    """Always the digits were shown, on which a Swin without its mask loses next to nothing."""
    found = read_result_if_any("one_slip_shapes")
    assert found is not None
    app = opened(open_app, "spot_the_bug", experiments__puzzle=str(list(BUGS).index("mask") + 1))
    dots = [racer["dots"] for racer in view(app, "studies.spot_the_bug.race")["racers"]]
    assert dots == [[row["test"] for row in select_bug_rows(found, key)] for key in ("mended:swin", "mask")]


def test_the_gradients_are_the_file_s_and_can_be_computed_here(open_app: OpenApp) -> None:
    app = opened(open_app, "residuals", experiments__updates="10")
    assert "10 updates" in captions(app)
    here = opened(open_app, "residuals", experiments__here="1", experiments__deep="2")
    assert re.search(r"[\d.]+.* in 'P.*residuals'; seed 0, 128 digits, fp32\.", captions(here))
    assert len(charts(here)) == 2
    assert open_drawers(here) == [MATH, CODE, NUMBERS]


def test_batch_norm_alone_depends_on_the_other_pictures(open_app: OpenApp) -> None:
    text = captions(opened(open_app, "norms"))
    assert re.search(r"under BatchNorm \(by 0\.\d+ .* LayerNorm, InstanceNorm or GroupNorm\b", text)
    assert re.search(r"3 test \w+ of Digits\. The figure shows the first 8 of 65 tokens", text)


def test_norms_take_a_width_that_four_groups_do_not_divide_and_name_the_pictures(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    preset = PRESETS["vit_digits"]
    config = replace(preset.config, embed_dim=30, depth=1, num_heads=3)
    states = {9: create_model(config, seed=0).state_dict()}
    classes = tuple(str(index) for index in range(config.num_classes))
    checkpoint = Checkpoint(
        config, preset.preparation, TrainConfig(dataset="own:x"), classes, [], states, {"title": "Thirty"}
    )
    save_checkpoint(no_shipped_checkpoints / "thirty.safetensors", checkpoint)
    text = captions(opened(open_app, "norms", model="checkpoint:thirty"))
    assert "16 of 30 channels; GroupNorm has 3 groups" in text and "under BatchNorm (" in text
    assert re.search(r"of Digits, [^.]*\bnot\b[^.]*\. ", text), "the model was not trained on digits"


def test_positions_are_shown_beside_the_lecture_s_two_tables(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    file = ROOT / "checkpoints" / "positions_race.json"
    (no_shipped_checkpoints / file.name).write_bytes(file.read_bytes())
    races = json.loads(file.read_text())["races"]
    for name, race in races.items():
        text = captions(opened(open_app, "positions", positions__dataset=name))
        none = next(run for run in race["runs"] if run["positions"] == "none")["measured"]["accuracy"]
        epochs = f"{race['train']['epochs']:g} epochs"
        assert f"{spaced(none, 1)} on {DATASETS[name].title} after {epochs}" in text
        assert ("27 points apart" in text) == (name == "mnist")
    reached = {"none": 0.92, "learned": 0.97, "sincos_1d": 0.96}
    assert "unexplained" in positions.describe_lecture(reached)
    assert "would explain it" in positions.describe_lecture({**reached, "sincos_1d": 0.68})
    assert positions.describe_lecture({**reached, "none": 0.5}) == ""
