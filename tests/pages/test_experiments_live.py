"""Test experiments that a click trains: started once, restored by their link, and described by their numbers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import runs
from tests.pages.conftest import OpenApp, captions
from tests.pages.lab.helpers import FakeExecutor
from tests.pages.test_experiments_page import opened
from vitviz.experiments import bugs, hyperparameters
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.training.atomic_files import write_status
from vitviz.training.run_directory import Run, Status


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    fake = FakeExecutor(tmp_path / "runs")
    monkeypatch.setattr(runs, "get_executor", lambda: fake)
    return fake


def find_lab_run(app: AppTest) -> str:
    """Return the run of the link to the live lab; '' without such a link."""
    links = [link.proto for link in app.main.get("page_link")]
    return next((link.query_string for link in links if "these models" in link.label), "").partition(
        "live_lab.run="
    )[2]


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
    (run_id,) = app.session_state["_visit"].runs
    assert find_lab_run(app) == run_id
    assert any("-studies.race_view" in view.proto.id for view in app.main.get("bidi_component"))
    assert "2 models train in alternating steps." in captions(app)
    app.main.button(key=f"studies._stop_{run_id}").click().run()
    assert executor.orders[1:] == [("stop", run_id)]
    app.main.text_input(key="experiments.knob_values").set_value("1, 3").run()
    assert "Heads 3 does not divide Width D" in app.main.error[0].value, "in the words of the page"
    assert app.main.button(key="studies.hyperparameter._start").disabled


def test_some_of_the_values_that_have_names_are_trained(open_app: OpenApp, executor: FakeExecutor) -> None:
    """All seven codes of positions were, whichever one wanted to see."""
    app = opened(open_app, "hyperparameter", experiments__knob="positions")
    pills = app.main.button_group(key="experiments.knob_picked")
    assert len(pills.value) == 7
    pills.set_value(["positions.none", "positions.learned"]).run()
    app.main.button(key="studies.hyperparameter._start").click().run()
    ((_, config),) = executor.orders
    asked = hyperparameters.build_run_config("digits", "positions", ("none", "learned"))
    assert replace(config, owner="", lease_s=None) == asked
    app.main.selectbox(key="experiments.knob").set_value("readout").run()
    assert not app.exception and len(app.main.button_group(key="experiments.knob_picked").value) == 3
    app.main.selectbox(key="experiments.knob").set_value("norm").run()
    assert "2 models of 73,034 parameters" in captions(app)


@pytest.mark.parametrize("name", ["stem", "frozen", "layer_scale", "epochs"])
def test_a_hyperparameter_that_nothing_is_stored_of_is_trained_here(
    open_app: OpenApp, executor: FakeExecutor, name: str
) -> None:
    """It said 'train it here', and one had to look for where."""
    app = opened(open_app, "hyperparameter", experiments__knob=name)
    app.main.button(key="studies.hyperparameter._start").click().run()
    ((_, config),) = executor.orders
    assert replace(config, owner="", lease_s=None) == hyperparameters.build_run_config(
        "digits", name, HYPERPARAMETERS[name].values
    )
    assert config.longest == 15.0
    epochs = app.main.number_input(key="experiments.knob_epochs")
    assert epochs.disabled == (name == "epochs")
    assert ("1 to 15 epochs each" in captions(app)) == (name == "epochs")


def test_the_same_models_are_not_ordered_twice_while_they_train(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    """A second click put the same six models into the queue, and those that trained went out of sight."""
    app = opened(open_app, "bug", experiments__slip="softmax")
    app.main.button(key="studies.bug._start").click().run()
    (first,) = app.session_state["_visit"].runs
    app.main.button(key="studies.bug._start").click().run()
    assert app.session_state["_visit"].runs == (first,) and find_lab_run(app) == first
    assert "already" in app.main.warning[0].value and len(app.main.warning) == 1
    run = Run.find(executor.folder, first)
    write_status(run.directory / "status.json", asdict(Status("done")))
    app.main.button(key="studies.bug._start").click().run()
    assert len(executor.orders) == 2, "once they have ended they may be trained again"


def test_a_link_leads_to_the_newest_run_on_the_dataset(open_app: OpenApp, executor: FakeExecutor) -> None:
    first, second = (
        Run.create(executor.folder, bugs.build_run_config(name, "softmax")) for name in ("digits", "shapes")
    )
    app = opened(open_app, "bug", experiments__slip="softmax")
    assert find_lab_run(app) == ""
    app.session_state["_visit"].runs = (second.id, first.id)
    assert find_lab_run(app.run()) == first.id
    app.main.button_group(key="experiments.slip_set").set_value("shapes").run()
    assert find_lab_run(app) == second.id and not app.exception
