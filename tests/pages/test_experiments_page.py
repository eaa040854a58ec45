"""Experiments: what the page says is what its files hold; one click orders the run that is described."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Dataframe

from pages.stores import runs
from pages.stores.racers import racers
from pages.train.experiments import live, positions, shuffled
from pages.train.experiments.knob import AGAINST
from pages.train.experiments.literature import linked
from tests.messages import message
from tests.pages.conftest import ROOT, OpenApp, said
from tests.pages.lab.helpers import FakeExecutor, belongs
from tests.pages.test_drawers import CODE, MATH, open_drawers
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import TrainConfig
from vitviz.data.datasets import DATASETS
from vitviz.experiments import knobs, slips
from vitviz.experiments.knobs import KNOBS
from vitviz.experiments.result import kept_result, read_result
from vitviz.experiments.slips import MENDED, SLIPS
from vitviz.lessons.of_experiments import knob_rows, slip_rows
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.training.files import write_status
from vitviz.training.run_directory import Run, Status
from vitviz.training.session import Session
from vitviz.words import FOREIGN, gained, percent, plain

PAGE = "pages/train/experiments/page.py"
GUESSED = {f"experiments__{key}_guess": "shown" for key in ("knob", "slip", "gradient", "norm", "positions")}
GONE = "The training of this link is gone: it was removed, or this server keeps it no longer."


def opened(open_app: OpenApp, view: str, **more: str) -> AppTest:
    asked = {"model": "preset:vit_digits", "image": "digits:3", **GUESSED, **more}
    app = open_app(PAGE, experiments__view=view, **asked)
    assert not app.main.error
    return app


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.main.caption)


def written(table: Dataframe, name: str) -> list[str]:
    """What stands in a column for its numbers."""
    return list(convert_arrow_bytes_to_pandas_df(table.proto.arrow_data.styler.display_values)[name])


def view(app: AppTest, key: str) -> dict[str, Any]:
    header, _ = message(app, key)
    return header


def test_every_seed_of_a_knob_on_the_page_stands_in_the_file(open_app: OpenApp) -> None:
    found = read_result("one_knob_digits")
    for name in ("optimizer",):  # the page draws all alike; `test_stored_changes` counts each
        app = opened(open_app, "knob", experiments__knob=name)
        by_value = knob_rows(found, name)
        tests = {
            KNOBS[name].label(value): [row["test"] for row in rows if "test" in row]
            for value, rows in by_value.items()
        }
        shown = {racer["title"]: racer["dots"] for racer in view(app, "experiments.knob_view")["racers"]}
        assert shown == tests
        best = max((value for value in tests if tests[value]), key=lambda value: mean(tests[value]))
        assert (
            f"Best of {sum(map(bool, tests.values()))}: {best} with {percent(mean(tests[best]))}"
            in captions(app)
        )
        assert found.made[0].commit in captions(app) and linked(KNOBS[name].said) in captions(app)
        (table,) = app.main.dataframe
        against = table.value[AGAINST]
        assert written(table, AGAINST) == ["–" if value != value else gained(value) for value in against]
        assert written(table, "Mean") == [percent(value) for value in table.value["Mean"]]
        assert list(table.value["Value"]) == list(tests)
        for title, value in zip(table.value["Value"], table.value["Mean"], strict=True):
            assert not tests[title] or value == pytest.approx(mean(tests[title]))


def test_every_paper_of_a_knob_is_a_link() -> None:
    for knob in KNOBS.values():
        assert not knob.said or linked(knob.said).startswith("["), knob.name
    assert linked("Smith 2017: so") == "[Smith 2017](https://arxiv.org/abs/1506.01186): so"


@pytest.mark.parametrize("dataset", slips.SEEDS)
def test_what_a_slip_costs_stands_in_the_file(open_app: OpenApp, dataset: str) -> None:
    path = ROOT / "checkpoints" / "results" / f"one_slip_{dataset}.json"
    if not path.is_file():
        app = opened(open_app, "slip", experiments__slip_set=dataset)
        assert f"one_slip_{dataset}" in app.main.info[0].value
        return
    found = read_result(f"one_slip_{dataset}")
    for name in ("mask",):  # the page draws all alike; `test_stored_changes` counts each
        slip = SLIPS[name]
        app = opened(open_app, "slip", experiments__slip=name, experiments__slip_set=dataset)
        right, wrong = (slip_rows(found, key) for key in (f"{MENDED}:{slip.family}", name))
        if not (right and wrong):
            assert "was not measured on this set as yet" in captions(app)
            continue
        reached = [mean(row["test"] for row in rows) for rows in (right, wrong)]
        assert f"{percent(reached[0])} without it, {percent(reached[1])} with it" in captions(app)
        dots = [racer["dots"] for racer in view(app, "experiments.slip_view")["racers"]]
        assert dots == [[row["test"] for row in rows] for rows in (right, wrong)]


def test_a_puzzle_tells_nothing_before_a_line_is_chosen(open_app: OpenApp) -> None:
    for number, (name, slip) in list(enumerate(SLIPS.items(), start=1))[::4]:
        app = opened(open_app, "spot", experiments__puzzle=str(number))
        words = captions(app) + " ".join(part.value for part in app.main.markdown)
        assert slip.title not in words and slip.why not in words
        radio = app.main.radio(key=f"experiments._line_{name}")
        assert [option.strip("`").strip() for option in radio.options] == [
            line.strip() for line in slip.lines
        ]
    last = len(slip.lines) - 1
    wrong = next(line for line in range(last + 1) if line not in slip.wrong)
    radio.set_value(wrong).run()
    assert slip.why in app.main.warning[0].value and slip.right.strip() in app.main.warning[0].value
    app.main.radio(key=f"experiments._line_{name}").set_value(slip.wrong[0]).run()
    assert app.main.success[0].value.startswith("Yes.")


def test_a_puzzle_shows_the_set_that_tells_the_slip_from_the_mended_code(open_app: OpenApp) -> None:
    """Always the digits were shown, on which a Swin without its mask loses next to nothing."""
    found = kept_result("one_slip_shapes")
    assert found is not None
    app = opened(open_app, "spot", experiments__puzzle=str(list(SLIPS).index("mask") + 1))
    dots = [racer["dots"] for racer in view(app, "experiments.spot_view")["racers"]]
    assert dots == [[row["test"] for row in slip_rows(found, key)] for key in ("mended:swin", "mask")]


def test_the_gradients_are_the_file_s_and_can_be_computed_here(open_app: OpenApp) -> None:
    app = opened(open_app, "gradient", experiments__updates="10")
    assert "After 10 updates the first block's gradient" in captions(app)
    here = opened(open_app, "gradient", experiments__here="1", experiments__deep="2")
    assert "Seed 0, 128 digits, fp32. At the start the first block's gradient" in captions(here)
    assert len(here.main.get("plotly_chart")) == 2
    assert open_drawers(here) == [MATH, CODE]


def test_batch_norm_alone_depends_on_the_other_pictures(open_app: OpenApp) -> None:
    said = captions(opened(open_app, "norms"))
    assert "under LayerNorm, Instance norm, Group norm they do not" in said and "under Batch norm (" in said
    assert "the first 3 test pictures of Digits: the first 8 of 65 tokens" in said
    app = open_app(PAGE, experiments__view="norms", model="preset:cnn_digits", image="digits:3")
    assert not app.exception and "block of a ViT" in " ".join(
        part.value for part in (*app.main.info, *app.main.caption)
    )


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
    said = captions(opened(open_app, "norms", model="checkpoint:thirty"))
    assert "16 of 30 channels, for group norm in 3 groups" in said and "under Batch norm (" in said
    assert "test pictures of Digits, which are not like those that it learned from: " in said


def test_positions_are_shown_beside_the_lecture_s_two_tables(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    file = ROOT / "checkpoints" / "positions_race.json"
    (no_shipped_checkpoints / file.name).write_bytes(file.read_bytes())
    app = opened(open_app, "positions")
    races = json.loads(file.read_text())["races"]
    none = {
        name: next(run for run in race["runs"] if run["positions"] == "none")["measured"]["accuracy"]
        for name, race in races.items()
    }
    said = captions(app)
    for name, value in none.items():
        epochs = f"{races[name]['train']['epochs']:g} epochs"
        assert f"on {DATASETS[name].title} after {epochs} none has {percent(value)}" in said
    assert "27 points apart" in said
    assert "No table measured here does worse than none" in said
    for race in races.values():  # one that does is said to, and on which set
        race["runs"][0]["measured"]["accuracy"] = 1.0 if race is races["mnist"] else 0.0
    assert "is measured on MNIST." in positions.describe(races)


# ---------------------------------------------------------------- live


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    fake = FakeExecutor(tmp_path / "runs")
    monkeypatch.setattr(runs, "executor", lambda: fake)
    return fake


def test_one_click_orders_the_run_that_is_described(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = opened(
        open_app, "knob", experiments__how="live", experiments__knob="num_heads", experiments__knob_epochs="2"
    )
    app.main.text_input(key="experiments.knob_values").set_value("1, 8").run()
    assert "2 models of 73,034 parameters, 2 epochs each" in captions(app)
    app.main.button(key="experiments.knob._start").click().run()
    ((order, config),) = executor.orders
    asked = knobs.run_config("digits", "num_heads", (1, 8), epochs=2.0)
    assert order == "start" and replace(config, owner="", lease_s=None) == asked
    assert [racer["title"] for racer in view(app, "experiments.live_view")["racers"]] == ["1", "8"]
    app.main.text_input(key="experiments.knob_values").set_value("1, 3").run()
    assert "Heads 3 does not divide Width D" in app.main.error[0].value, "in the words of the page"
    assert app.main.button(key="experiments.knob._start").disabled


def test_some_of_the_values_that_have_names_are_trained(open_app: OpenApp, executor: FakeExecutor) -> None:
    """All six codes of positions were, whichever one wanted to see: three seeds of two could not be had."""
    app = opened(open_app, "knob", experiments__how="live", experiments__knob="positions")
    pills = app.main.button_group(key="experiments.knob_picked")
    assert len(pills.value) == 6
    pills.set_value(["positions.none", "positions.learned"]).run()
    app.main.button_group(key="experiments.knob_seeds").set_value(3).run()
    app.main.button(key="experiments.knob._start").click().run()
    ((_, config),) = executor.orders
    asked = knobs.run_config("digits", "positions", ("none", "learned"), seeds=3)
    assert replace(config, owner="", lease_s=None) == asked
    app.main.selectbox(key="experiments.knob").set_value("readout").run()
    assert not app.exception and len(app.main.button_group(key="experiments.knob_picked").value) == 3
    app.main.selectbox(key="experiments.knob").set_value("norm").run()
    assert "2 models" not in captions(app) and "6 models of 73,034 parameters" in captions(app)


@pytest.mark.parametrize("name", ["stem", "frozen", "layer_scale", "epochs"])
def test_a_knob_that_nothing_is_stored_of_is_trained_here(
    open_app: OpenApp, executor: FakeExecutor, name: str
) -> None:
    """It said 'train it here', and one had to look for where."""
    app = opened(open_app, "knob", experiments__knob=name)
    app.main.button(key="experiments.knob._start").click().run()
    ((_, config),) = executor.orders
    assert replace(config, owner="", lease_s=None) == knobs.run_config("digits", name, KNOBS[name].values)
    header = view(app, "experiments.live_view")
    assert [racer["title"] for racer in header["racers"]] == list(map(KNOBS[name].label, KNOBS[name].values))
    assert header["epochs"] == 15.0
    epochs = app.main.number_input(key="experiments.knob_epochs")
    assert epochs.disabled == (name == "epochs")
    assert ("1 to 15 epochs each" in captions(app)) == (name == "epochs")


def test_a_run_that_waits_says_where_it_stands_in_the_queue(
    executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said 'queued · epoch 0.0 · 0 s of training'."""
    run = Run.create(executor.folder, slips.run_config("digits", "softmax"))
    for place, words in (
        (3, "waiting for a free place, number 3 in the queue"),
        (None, "waiting for a free place"),
    ):
        monkeypatch.setattr(executor, "place", lambda run, place=place: place, raising=False)
        assert live._standing(run, Status("queued")) == words
    assert live._standing(run, Status("starting")) == "the pictures are being prepared"
    going = Status("running", epoch=2.0, seconds=8.0, seconds_left=9.0)
    assert live._standing(run, going) == "running · epoch 2.0 · 8 s of training · 9 s left"


def test_a_run_that_waits_names_the_visit_s_own_that_trains_and_promises_no_curve(
    open_app: OpenApp, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """'The first accuracies come within seconds' stood there for three minutes."""
    app = opened(open_app, "slip", experiments__slip="softmax")
    app.main.button(key="experiments.slip._start").click().run()
    first = said_run(app)
    monkeypatch.setattr(executor, "running", lambda: [first])
    app.main.selectbox(key="experiments.slip").set_value("scale").run()
    app.main.button(key="experiments.slip._start").click().run()
    assert app.main.get("progress")[0].proto.text == (
        "waiting for a free place, number 2 in the queue; your"
        f" '{plain('One slip: A softmax before the cross-entropy')}' is training"
    )
    assert view(app, "experiments.live_view")["waiting"] == "The curves begin when a trainer takes it up."


def test_the_same_models_are_not_ordered_twice_while_they_train(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """A second click put the same six models into the queue, and those that trained went out of sight."""
    app = opened(open_app, "slip", experiments__slip="softmax")
    app.main.button(key="experiments.slip._start").click().run()
    (first,) = app.session_state["_visit"].runs
    app.main.button(key="experiments.slip._start").click().run()
    assert app.session_state["_visit"].runs == (first,) and said_run(app) == first
    said = plain("These models are being trained already: here they are.")
    assert [warning.value for warning in app.main.warning] == [said]
    run = Run.find(executor.folder, first)
    write_status(run.directory / "status.json", asdict(Status("done")))
    app.main.button(key="experiments.slip._start").click().run()
    assert len(executor.orders) == 2, "once they have ended they may be trained again"


def test_models_of_unequal_length_are_said_to_be_as_far_as_each_is_of_its_own(tmp_path: Path) -> None:
    """It said 'epoch 7.3', then '2.5', then '7.5': the epoch of whichever model had come last."""
    run = Run.create(tmp_path, knobs.run_config("digits", "epochs", (5.0, 15.0)))
    going = Status("running", progress=0.5, epoch=7.5, step=90, total_steps=300, seconds=8.0)
    assert runs.reached(run.config(), going) == (said := "50\N{NO-BREAK SPACE}% of each model's training")
    assert live._standing(run, going) == f"running · {said} · 8 s of training"


def test_a_live_run_of_one_set_stays_when_another_set_is_trained(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """Once the slip was trained on shapes its run on digits was not found again."""
    first, second = (
        Run.create(executor.folder, slips.run_config(name, "softmax")) for name in ("digits", "shapes")
    )
    app = opened(open_app, "slip", experiments__slip="softmax")
    app.session_state["_visit"].runs = (second.id, first.id)
    app.run()
    assert app.main.get("progress")
    app.main.button_group(key="experiments.slip_set").set_value("shapes").run()
    assert app.main.get("progress") and not app.exception


def test_a_link_keeps_the_run_on_the_stage_until_another_one_starts(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    config = slips.run_config("digits", "softmax")
    older, newer = (Run.create(executor.folder, config) for _ in range(2))
    app = opened(open_app, "slip", experiments__slip="softmax", experiments__slip_run=older.id)
    assert said_run(app) == older.id, "somebody else's, whose link this is"
    app.session_state["_visit"].runs = (newer.id, older.id)
    assert said_run(app.run()) == older.id
    app.main.button(key="experiments.slip._start").click().run()
    assert said_run(app) not in (older.id, newer.id) and app.session_state["_visit"].runs[0] == said_run(app)
    other = opened(open_app, "slip", experiments__slip="scale", experiments__slip_run=older.id)
    assert not other.main.get("progress"), "of another slip"


def test_a_link_whose_run_is_gone_says_so(open_app: OpenApp, executor: FakeExecutor) -> None:
    """It showed the visit's newest without a word."""
    mine = Run.create(executor.folder, slips.run_config("digits", "softmax"))
    app = opened(
        open_app, "slip", experiments__slip="softmax", experiments__slip_run="20260101-000000-aaaaaaaa"
    )
    assert [warning.value for warning in app.main.warning] == [GONE] and not app.exception
    app.session_state["_visit"].runs = (mine.id,)
    app.run()
    assert said_run(app) == mine.id and [warning.value for warning in app.main.warning] == [GONE]
    assert not app.run().main.warning, "said once, of the link that one came by"


def said_run(app: AppTest) -> str:
    return said(app, "experiments.slip_run")


def test_a_run_that_was_stopped_says_so_and_where_it_goes_on(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """It said 'stopped; resume goes on from here.' on a page where nothing resumes."""
    run = Run.create(executor.folder, slips.run_config("digits", "softmax"))
    stopped = Status("stopped", message="stopped; resume goes on from here")
    write_status(run.directory / "status.json", asdict(stopped))
    app = opened(open_app, "slip", experiments__slip="softmax", experiments__slip_run=run.id)
    assert "Stopped: no test pictures were read." in captions(app) and "esume" not in captions(app)
    assert "Stopped: no test pictures were read. Resume it in the lab." in captions(belongs(app, run))
    done = live._said(run, Status("done"), "", False)
    assert done == "It ended early: no test pictures were read."


def test_a_finished_slip_says_what_it_cost(open_app: OpenApp, executor: FakeExecutor) -> None:
    config = slips.run_config("digits", "softmax")
    members = tuple(
        replace(
            member,
            model=replace(member.model, embed_dim=16, depth=1),
            train=replace(member.train, epochs=0.3),
        )  # type: ignore
        for member in (config.members[0], config.members[3])
    )
    run = Run.create(executor.folder, replace(config, model=members[0].model, members=members))
    assert Session(run, "cpu").perform().state == "done"
    app = opened(open_app, "slip", experiments__slip="softmax")
    assert not app.main.get("progress")
    belongs(app, run)
    app.session_state["_visit"].recalled = False
    app.run()
    right, wrong = (member.status().test_accuracy or 0.0 for member in run.members())
    dots = [racer["dots"] for racer in view(app, "experiments.live_view")["racers"]]
    assert dots == [[round(right, 4)], [round(wrong, 4)]]
    assert f"{percent(right)} without it, {percent(wrong)} with it" in captions(app)


def test_the_positions_race_is_a_knob(open_app: OpenApp, executor: FakeExecutor) -> None:
    """Its page only linked to the race in the lab."""
    config = knobs.run_config("digits", "positions", ("none", "learned"), seeds=2)
    members = tuple(
        replace(
            member,
            model=replace(member.model, embed_dim=16, depth=1),
            train=replace(member.train, epochs=0.3),
        )  # type: ignore
        for member in config.members
    )
    run = Run.create(executor.folder, replace(config, model=members[0].model, members=members))
    assert Session(run, "cpu").perform().state == "done"
    asked = {"experiments__how": "live", "experiments__knob": "positions", "experiments__knob_run": run.id}
    app = opened(open_app, "knob", **asked)
    header = view(app, "experiments.live_view")
    assert [racer["name"] for racer in header["racers"]] == ["none", "learned"] and header["split"] == "test"
    reached = [mean(one.status().test_accuracy or 0.0 for one in run.members()[at : at + 2]) for at in (0, 2)]
    measured = [racer["measured"] for racer in header["racers"]]
    assert [whole for whole, _ in measured] == pytest.approx(reached)
    assert measured[0][1] == pytest.approx(reached[0], abs=0.01), "no positions, no order of patches"
    told = captions(app).replace(FOREIGN, "")
    assert f"No positions {percent(reached[0])}, Learned {percent(reached[1])}" in told
    assert "Every number is the mean of 2 seeds." in told
    going = racers(run)
    going[1] = replace(going[1], measured=None)
    (none, _), counts = shuffled.averaged(KNOBS["positions"], going)
    assert counts == [1, 2] and none.measured == going[0].measured, "a seed that has not ended waits"
    app.main.button_group(key="experiments.knob_look").set_value("seeds").run()
    dots = [racer["dots"] for racer in view(app, "experiments.live_view")["racers"]]
    assert [len(seeds) for seeds in dots] == [2, 2] and "Best of 2: " in captions(app)
