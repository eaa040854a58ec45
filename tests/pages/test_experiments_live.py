"""Test experiments that a click trains: started once, restored by their link, and described by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import runs
from pages.stores.runs import list_racers
from pages.studies import live_runs
from tests.pages.conftest import OpenApp, said
from tests.pages.lab.helpers import FakeExecutor, belongs
from tests.pages.test_experiments_page import captions, opened, spaced, view
from vitviz.experiments import bugs, hyperparameters
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.text import FOREIGN
from vitviz.training.atomic_files import write_status
from vitviz.training.run_config import Member
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session

EXPIRED = "link"  # a warning about the link's run names the link


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    fake = FakeExecutor(tmp_path / "runs")
    monkeypatch.setattr(runs, "get_executor", lambda: fake)
    return fake


def test_one_click_orders_the_run_that_is_described(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = opened(
        open_app,
        "hyperparameter",
        experiments__knob="num_heads",
        experiments__knob_epochs="2",
    )
    app.main.text_input(key="experiments.knob_values").set_value("1, 8").run()
    assert "2 models of 73,034 parameters, 2 epochs each" in captions(app)
    app.main.button(key="studies.hyperparameter._start").click().run()
    ((order, config),) = executor.orders
    asked = hyperparameters.build_run_config("digits", "num_heads", (1, 8), epochs=2.0)
    assert order == "start" and replace(config, owner="", lease_s=None) == asked
    assert [racer["title"] for racer in view(app, "studies.live.race")["racers"]] == ["1", "8"]
    app.main.text_input(key="experiments.knob_values").set_value("1, 3").run()
    assert "Heads 3 does not divide Width D" in app.main.error[0].value, "in the words of the page"
    assert app.main.button(key="studies.hyperparameter._start").disabled


def test_some_of_the_values_that_have_names_are_trained(open_app: OpenApp, executor: FakeExecutor) -> None:
    """All seven codes of positions were, whichever one wanted to see: three seeds of two could not be had."""
    app = opened(open_app, "hyperparameter", experiments__knob="positions")
    pills = app.main.button_group(key="experiments.knob_picked")
    assert len(pills.value) == 7
    pills.set_value(["positions.none", "positions.learned"]).run()
    app.main.button_group(key="experiments.knob_seeds").set_value(3).run()
    app.main.button(key="studies.hyperparameter._start").click().run()
    ((_, config),) = executor.orders
    asked = hyperparameters.build_run_config("digits", "positions", ("none", "learned"), seeds=3)
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
    app = opened(open_app, "hyperparameter", experiments__knob=name)
    app.main.button(key="studies.hyperparameter._start").click().run()
    ((_, config),) = executor.orders
    assert replace(config, owner="", lease_s=None) == hyperparameters.build_run_config(
        "digits", name, HYPERPARAMETERS[name].values
    )
    header = view(app, "studies.live.race")
    assert [racer["title"] for racer in header["racers"]] == list(
        map(HYPERPARAMETERS[name].label, HYPERPARAMETERS[name].values)
    )
    assert header["epochs"] == 15.0
    epochs = app.main.number_input(key="experiments.knob_epochs")
    assert epochs.disabled == (name == "epochs")
    assert ("1 to 15 epochs each" in captions(app)) == (name == "epochs")


def test_a_run_that_waits_says_where_it_stands_in_the_queue(
    executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said 'queued · epoch 0.0 · 0 s of training'."""
    run = Run.create(executor.folder, bugs.build_run_config("digits", "softmax"))
    for place, numbers in ((3, ["3"]), (None, [])):
        monkeypatch.setattr(executor, "queue_position", lambda run, place=place: place, raising=False)
        assert re.findall(r"\d+", live_runs._describe_status(run, Status("queued"))) == numbers
    assert "prepared" in live_runs._describe_status(run, Status("starting"))
    going = Status("running", epoch=2.0, seconds=8.0, seconds_left=9.0)
    assert live_runs._describe_status(run, going) == "running · epoch 2.0 · 8 s of training · 9 s left"


def test_a_run_that_waits_names_the_visit_s_own_that_trains_and_promises_no_curve(
    open_app: OpenApp, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """'The first accuracies come within seconds' stood there for three minutes."""
    app = opened(open_app, "bug", experiments__slip="softmax")
    app.main.button(key="studies.bug._start").click().run()
    first = said_run(app)
    monkeypatch.setattr(executor, "running", lambda: [first])
    assert app.run().main.get("progress")[0].proto.text == "starting", "it is queued no more"
    app.main.selectbox(key="experiments.slip").set_value("scale").run()
    app.main.button(key="studies.bug._start").click().run()
    text = app.main.get("progress")[0].proto.text
    assert re.search(r"\b2\b.*'.*softmax before the cross", text), (
        "place in the queue, and the run that trains"
    )
    assert "seconds" not in view(app, "studies.live.race")["waiting"]


def test_the_same_models_are_not_ordered_twice_while_they_train(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """A second click put the same six models into the queue, and those that trained went out of sight."""
    app = opened(open_app, "bug", experiments__slip="softmax")
    app.main.button(key="studies.bug._start").click().run()
    (first,) = app.session_state["_visit"].runs
    app.main.button(key="studies.bug._start").click().run()
    assert app.session_state["_visit"].runs == (first,) and said_run(app) == first
    assert "already" in app.main.warning[0].value and len(app.main.warning) == 1
    run = Run.find(executor.folder, first)
    write_status(run.directory / "status.json", asdict(Status("done")))
    app.main.button(key="studies.bug._start").click().run()
    assert len(executor.orders) == 2, "once they have ended they may be trained again"


def test_models_of_unequal_length_are_said_to_be_as_far_as_each_is_of_its_own(tmp_path: Path) -> None:
    """It said 'epoch 7.3', then '2.5', then '7.5': the epoch of whichever model had come last."""
    run = Run.create(tmp_path, hyperparameters.build_run_config("digits", "epochs", (5.0, 15.0)))
    going = Status("running", progress=0.5, epoch=7.5, step=90, total_steps=300, seconds=8.0)
    assert runs.describe_progress(run.config(), going) == (
        said := "50\N{NO-BREAK SPACE}% of each model's training"
    )
    assert live_runs._describe_status(run, going) == f"running · {said} · 8 s of training"


def test_a_live_run_of_one_set_stays_when_another_set_is_trained(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """Once the slip was trained on shapes its run on digits was not found again."""
    first, second = (
        Run.create(executor.folder, bugs.build_run_config(name, "softmax")) for name in ("digits", "shapes")
    )
    app = opened(open_app, "bug", experiments__slip="softmax")
    app.session_state["_visit"].runs = (second.id, first.id)
    app.run()
    assert app.main.get("progress")
    app.main.button_group(key="experiments.slip_set").set_value("shapes").run()
    assert app.main.get("progress") and not app.exception


def test_a_link_keeps_the_run_on_the_stage_until_another_one_starts(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    config = bugs.build_run_config("digits", "softmax")
    older, newer = (Run.create(executor.folder, config) for _ in range(2))
    app = opened(open_app, "bug", experiments__slip="softmax", experiments__slip_run=older.id)
    assert said_run(app) == older.id, "somebody else's, whose link this is"
    app.session_state["_visit"].runs = (newer.id, older.id)
    assert said_run(app.run()) == older.id
    app.main.button(key="studies.bug._start").click().run()
    assert said_run(app) not in (older.id, newer.id) and app.session_state["_visit"].runs[0] == said_run(app)
    other = opened(open_app, "bug", experiments__slip="scale", experiments__slip_run=older.id)
    assert not other.main.get("progress"), "of another slip"


def test_a_link_whose_run_is_gone_says_so(open_app: OpenApp, executor: FakeExecutor) -> None:
    """It showed the visit's newest without a word."""
    mine = Run.create(executor.folder, bugs.build_run_config("digits", "softmax"))
    app = opened(
        open_app, "bug", experiments__slip="softmax", experiments__slip_run="20260101-000000-aaaaaaaa"
    )
    (warning,) = app.main.warning
    assert EXPIRED in warning.value and not app.exception
    app.session_state["_visit"].runs = (mine.id,)
    app.run()
    assert said_run(app) == mine.id and [again.value for again in app.main.warning] == [warning.value]
    assert app.run().main.warning
    assert not app.button(key="studies._link_notice.dismiss").click().run().main.warning


def smaller(members: Sequence[Member]) -> tuple[Member, ...]:
    """The same models narrow, of one block, and trained for a moment."""
    narrow = [replace(member.model, embed_dim=16, depth=1) for member in members]  # type: ignore
    return tuple(
        replace(member, model=model, train=replace(member.train, epochs=0.3))
        for member, model in zip(members, narrow, strict=True)
    )


def said_run(app: AppTest) -> str:
    return said(app, "experiments.slip_run")


def test_a_run_that_was_stopped_says_so_and_where_it_goes_on(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """It said 'stopped; resume goes on from here.' on a page where nothing resumes."""
    run = Run.create(executor.folder, bugs.build_run_config("digits", "softmax"))
    stopped = Status("stopped", message="Stopped. Resume to continue from here.")
    write_status(run.directory / "status.json", asdict(stopped))
    app = opened(open_app, "bug", experiments__slip="softmax", experiments__slip_run=run.id)
    assert "Stopped: no test" in captions(app) and "esume" not in captions(app)
    assert re.search(r"Stopped: no test .*\. Resume it in the .*lab\.", captions(belongs(app, run)))
    assert "ended early" in live_runs._describe_run(run, Status("done"), "", False)


def test_a_finished_slip_says_what_it_cost(open_app: OpenApp, executor: FakeExecutor) -> None:
    config = bugs.build_run_config("digits", "softmax")
    members = smaller((config.members[0], config.members[3]))
    run = Run.create(executor.folder, replace(config, model=members[0].model, members=members))
    assert Session(run, "cpu").perform().state == "done"
    app = opened(open_app, "bug", experiments__slip="softmax")
    assert not app.main.get("progress")
    belongs(app, run)
    app.session_state["_visit"].runs_restored = False
    app.run()
    right, wrong = (member.status().test_accuracy or 0.0 for member in run.members())
    dots = [racer["dots"] for racer in view(app, "studies.live.race")["racers"]]
    assert dots == [[round(right, 4)], [round(wrong, 4)]]
    assert re.search(rf"{spaced(right)} without .*{spaced(wrong)} with", captions(app))


def test_the_positions_race_is_a_knob(open_app: OpenApp, executor: FakeExecutor) -> None:
    """Its page only linked to the race in the lab."""
    config = hyperparameters.build_run_config("digits", "positions", ("none", "learned"), seeds=2)
    members = smaller(config.members)
    run = Run.create(executor.folder, replace(config, model=members[0].model, members=members))
    assert Session(run, "cpu").perform().state == "done"
    asked = {"experiments__knob": "positions", "experiments__knob_run": run.id}
    app = opened(open_app, "hyperparameter", **asked)
    header = view(app, "studies.live.race")
    assert [racer["name"] for racer in header["racers"]] == ["none", "learned"] and header["split"] == "test"
    reached = [mean(one.status().test_accuracy or 0.0 for one in run.members()[at : at + 2]) for at in (0, 2)]
    measured = [racer["measured"] for racer in header["racers"]]
    assert [whole for whole, _ in measured] == pytest.approx(reached)
    assert measured[0][1] == pytest.approx(reached[0], abs=0.01), "no positions, no order of patches"
    text = captions(app).replace(FOREIGN, "")
    assert f"No positions {spaced(reached[0], 1)}, Learned {spaced(reached[1], 1)}" in text
    assert "2 seeds" in text
    going = list_racers(run)
    going[1] = replace(going[1], measured=None)
    (none, _), counts = live_runs.average_seeds(HYPERPARAMETERS["positions"], going)
    assert counts == [1, 2] and none.measured == going[0].measured, "a seed that has not ended waits"
    app.main.button_group(key="experiments.knob_look").set_value("seeds").run()
    dots = [racer["dots"] for racer in view(app, "studies.live.race")["racers"]]
    assert [len(seeds) for seeds in dots] == [2, 2] and re.search(r"of 2\b", captions(app))
