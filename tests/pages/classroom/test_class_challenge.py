"""A class's challenge on its pages: opened, runs submitted from the lab and shown on the board."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.classroom.challenge_board import CHALLENGE_QUERY, describe_status, format_board
from pages.stores import classes as stored
from pages.stores import leaderboard, runs
from pages.stores.leaderboard import BoardRow
from tests.pages.classroom.helpers import LAB, ROOM, code_of, learns, place, press, there, words
from tests.pages.conftest import OpenApp
from tests.pages.lab.helpers import FakeExecutor
from vitviz.classes import challenge
from vitviz.training.atomic_files import write_status
from vitviz.training.run_directory import Run, Status


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    folder = tmp_path / "runs"
    folder.mkdir(exist_ok=True)
    fake = FakeExecutor(folder)
    monkeypatch.setattr(runs, "get_executor", lambda: fake)
    monkeypatch.setattr(leaderboard, "_boards", {})
    monkeypatch.setattr(leaderboard, "_READ_S", 0.0)
    return fake


@pytest.fixture
def challenged(teacher: AppTest, executor: FakeExecutor) -> AppTest:
    """The app of a teacher who has opened a challenge."""
    press(teacher, "Open challenge")
    assert challenge.load_challenge(stored.get_classes(), code_of(teacher)) is not None
    return teacher


def to_the_lab(app: AppTest) -> AppTest:
    """Open the lab by the link beside the board, with settings that keep the rules."""
    app.switch_page(LAB)
    for key, value in CHALLENGE_QUERY.items():
        app.query_params[key] = value
    return there(app.run())


def handed_in(app: AppTest) -> Run:
    (entry,) = challenge.load_entries(stored.get_classes(), code_of(app))
    run = runs.find_run(entry.run)
    assert run is not None
    return run


def done(run: Run, accuracy: float) -> None:
    status = replace(Status(), state="done", step=9, accuracy=accuracy, test_accuracy=accuracy)
    write_status(run.directory / "status.json", asdict(status))


def test_a_run_is_handed_in_from_the_lab_and_stands_on_the_board(
    challenged: AppTest, open_app: OpenApp, executor: FakeExecutor
) -> None:
    learner = learns(open_app, challenged)
    learner.text_input(key="class_room._name").set_value("<b>Ada</b>").run()
    assert challenge.TERMS in words(learner)
    to_the_lab(learner)
    learner.button(key="live_lab._train_for_class").click().run()
    assert not learner.exception
    run = handed_in(challenged)
    config = run.config()
    assert config.train.seconds == challenge.SECONDS and config.train.clock == "core"
    assert config.owner == learner.session_state["_visit"].owner
    there(learner.switch_page(ROOM).run())
    table = " ".join(str(each.proto) for each in challenged.run().get("html"))
    assert "&lt;b&gt;Ada&lt;/b&gt;" in table and "waiting, position 2" in table and "<b>Ada" not in table
    done(run, 0.975)
    assert "97.5" in " ".join(str(each.proto) for each in challenged.run().get("html"))


def test_a_trained_run_is_handed_in_as_it_is_or_the_rule_that_it_breaks_is_reported(
    challenged: AppTest, open_app: OpenApp, executor: FakeExecutor
) -> None:
    learner = to_the_lab(learns(open_app, challenged))
    primary = [button.label for button in learner.main.button if button.proto.type == "primary"]
    assert primary == ["Train and hand in"]
    assert learner.button(key="live_lab._hand_in").disabled and "starts at once" in words(learner)
    learner.button(key="live_lab._start").click().run()
    run = runs.list_runs(learner.session_state["_visit"])[0]
    status = replace(Status(), state="done", step=9, accuracy=0.9, test_accuracy=0.9, seconds=60.0)
    write_status(run.directory / "status.json", asdict(status))
    learner.run()
    button = learner.button(key="live_lab._hand_in")
    assert button.disabled and "allows 20 seconds on one core, this run took" in button.help
    write_status(run.directory / "status.json", asdict(replace(status, seconds=4.0)))
    learner.run().button(key="live_lab._hand_in").click().run()
    assert not learner.exception and handed_in(challenged).id == run.id
    assert len(runs.list_runs(learner.session_state["_visit"])) == 1, "no second run was trained"
    button = learner.run().button(key="live_lab._hand_in")
    assert (button.label, button.help) == ("Handed in", "Disabled: it is on the board.")


def test_a_run_of_the_board_is_looked_at_and_not_changed(
    challenged: AppTest, open_app: OpenApp, executor: FakeExecutor
) -> None:
    to_the_lab(challenged).button(key="live_lab._train_for_class").click().run()
    run = handed_in(challenged)
    done(run, 0.9)
    learner = learns(open_app, challenged)
    learner = open_app(LAB, **{"class": code_of(challenged), "live_lab.run": run.id})
    here = learner.session_state["_visit"]
    assert run.id in here.runs and not runs.may_change(here, run)
    assert runs.may_change(challenged.session_state["_visit"], run)
    stranger = open_app(LAB)
    assert run.id not in stranger.session_state["_visit"].runs


def test_a_class_without_a_challenge_hands_nothing_in(teacher: AppTest, executor: FakeExecutor) -> None:
    teacher.switch_page(LAB).run()
    assert "live_lab._hand_in" not in {button.key for button in teacher.button}


def test_what_is_against_the_rules_says_why(challenged: AppTest) -> None:
    challenged.switch_page(LAB).run()
    challenged.selectbox(key="live_lab.dataset").set_value("shapes").run()
    button = challenged.button(key="live_lab._train_for_class")
    assert button.disabled and "the challenge trains on Digits" in button.help
    assert place(challenged).challenge


def test_the_board_says_how_a_run_stands(executor: FakeExecutor) -> None:
    row = BoardRow("run", "me", "Ada", "running", 50_000, None, 0.5, 0.25)
    assert (
        describe_status(row).replace("\N{NO-BREAK SPACE}", " ") == "25 % trained, validation accuracy 50.0 %"
    )
    executor.slots = 2  # type: ignore[attr-defined]
    assert describe_status(replace(row, state="queued", turn=3)) == "waiting, position 3: about 50 s"
    assert describe_status(replace(row, state="queued", turn=30)) == "waiting, position 30: about 7 min"
    assert describe_status(replace(row, state="diverged")) == "diverged"
    many = [replace(row, run=str(i), who=str(i)) for i in range(40)]
    assert format_board(many, "39").count("<tr") == 1 + 30 + 1 and "class=mine" in format_board(many, "39")


def test_a_restart_resumes_a_submitted_run_and_costs_no_try(
    challenged: AppTest, open_app: OpenApp, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "_resumed", set())
    learner = to_the_lab(learns(open_app, challenged))
    learner.button(key="live_lab._train_for_class").click().run()
    run = handed_in(challenged)
    write_status(run.directory / "status.json", asdict(Status("interrupted", step=3)))
    leaderboard.resume_interrupted()
    leaderboard.resume_interrupted()
    assert executor.orders.count(("resume", run.id)) == 1
    assert challenge.load_challenge(stored.get_classes(), code_of(challenged)).entries == 1  # type: ignore[union-attr]
    press(challenged.run(), "End challenge")
    monkeypatch.setattr(leaderboard, "_resumed", set())
    leaderboard.resume_interrupted()
    assert executor.orders.count(("resume", run.id)) == 1
