"""An experiment is one run that steps its models in turn: steered and resumed whole, its members read as runs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.training_helpers import GREY, TINY, command_at, duplicate, of_kind, same_steps, same_weights
from vitviz.checkpoints import open_model
from vitviz.config import TrainConfig, ViTConfig
from vitviz.training.executor import LocalExecutor
from vitviz.training.loop import Trainer
from vitviz.training.position_race import CODES, RACES, positions_race
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import Member, RunConfig, config_from_values, config_to_values
from vitviz.training.run_directory import Run, RunError, list_runs
from vitviz.training.run_trainer import Session

TRAIN = TrainConfig(epochs=2, batch_size=32, train_fraction=0.1, snapshots=3, learning_rate=3e-3)
MEMBERS = (Member("none", "None", replace(TINY, positions="none")), Member("learned", "Learned", TINY))
LAST = 9  # updates: two epochs of 144 digits in batches of 32


def experiment(root: Path, **changes: Any) -> Run:
    train = replace(TRAIN, **changes)
    return Run.create(root, RunConfig(MEMBERS[0].model, GREY, train, "two codes", members=MEMBERS))


OWN = (
    Member("slow", "Slow", TINY),
    Member("fast", "Fast", TINY, replace(TRAIN, learning_rate=1e-2, seed=4)),
    Member("large", "Large batch", replace(TINY, depth=1), replace(TRAIN, batch_size=72)),
    Member("few", "Few pictures", TINY, replace(TRAIN, train_fraction=0.05)),
)


def own_recipes(root: Path) -> Run:
    return Run.create(root, RunConfig(TINY, GREY, TRAIN, "own recipes", members=OWN))


def test_every_member_becomes_an_ordinary_run(tmp_path: Path) -> None:
    run = experiment(tmp_path)
    status = Session(run, "cpu").perform()
    assert (status.state, status.step, status.progress) == ("done", LAST, 1.0)
    assert status.accuracy is None and [found.id for found in list_runs(tmp_path)] == [run.id]
    none, learned = run.members()
    assert (none.id, learned.config().name) == (f"{run.id}/none", "Learned")
    assert Run.find(tmp_path, learned.id).directory == learned.directory and learned.root_run.id == run.id
    for member in (none, learned):
        assert member.status().state == "done" and member.status().test_accuracy is not None
        assert [record["step"] for record in of_kind(member, "step")] == list(range(1, LAST + 1))
        assert member.snapshots()[0] == 0 and open_model(member.snapshot_path()).step == LAST
    assert status.seconds == pytest.approx(none.status().seconds + learned.status().seconds)


@pytest.mark.parametrize(("make", "halts"), [(experiment, [4, 4]), (own_recipes, [4, 4, 2, 2])])
def test_resumed_equals_uninterrupted_for_every_member(
    tmp_path: Path, make: Callable[[Path], Run], halts: list[int]
) -> None:
    whole, halted = make(tmp_path), make(tmp_path)
    Session(whole, "cpu").perform()
    stopped = command_at(halted, 4, "stop").perform()
    assert (stopped.state, stopped.step) == ("stopped", halts[-1])
    assert [member.status().step for member in halted.members()] == halts
    assert Session(halted, "cpu").perform().state == "done"
    for one, other in zip(whole.members(), halted.members(), strict=True):
        assert same_steps(one, other) and same_weights(one, other)
        found, again = ([{**r, "epoch": 0} for r in of_kind(m, "shuffled")] for m in (one, other))
        assert found == again


def test_a_kill_between_two_members_costs_neither_its_place(tmp_path: Path) -> None:
    """One member has written more than was saved, and its last line is torn: both go on from the save."""
    whole, killed = experiment(tmp_path), experiment(tmp_path)
    Session(whole, "cpu").perform()
    command_at(killed, 4, "stop").perform()
    saved = (killed.directory / "resume.safetensors").read_bytes()
    command_at(killed, 7, "stop").perform()
    (killed.directory / "resume.safetensors").write_bytes(saved)
    with (killed.members()[0].directory / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "step", "step": 8, "lo')
    Session(killed, "cpu").perform()
    for one, other in zip(whole.members(), killed.members(), strict=True):
        assert [r["step"] for r in of_kind(other, "step")] == list(range(1, LAST + 1))
        assert same_weights(one, other)


def test_pause_step_and_resume_move_all_members_together(tmp_path: Path) -> None:
    run, beat = experiment(tmp_path), threading.Event()
    thread = threading.Thread(target=command_at(run, 3, "pause").perform, daemon=True)
    thread.start()
    while run.status().state != "paused":
        beat.wait(0.01)
    assert [member.status().step for member in run.members()] == [3, 3]
    assert run.members()[0].status().state == "paused"
    run.control("step")
    while run.status().step < 4 or run.status().state != "paused":
        beat.wait(0.01)
    assert [len(of_kind(member, "step")) for member in run.members()] == [4, 4]
    run.control("resume")
    thread.join()
    assert run.status().state == "done"


def test_a_new_learning_rate_reaches_every_member_and_survives_a_resume(tmp_path: Path) -> None:
    run = experiment(tmp_path, schedule="constant")

    def tell(event: Event, _: Trainer) -> None:
        if isinstance(event, StepRecord) and event.step == 2:
            run.control("set", learning_rate=1e-4)
        elif isinstance(event, StepRecord) and event.step == 5:
            run.control("stop")

    assert Session(run, "cpu", tell).perform().state == "stopped"
    assert Session(run, "cpu").perform().state == "done"
    for member in run.members():
        rates = [record["learning_rate"] for record in of_kind(member, "step")]
        assert rates[:2] == [3e-3, 3e-3] and set(rates[2:]) == {1e-4}
        assert of_kind(member, "event")[0]["learning_rate"] == 1e-4


def poison(event: Event, trainer: Trainer) -> None:
    """Spoils the weights of the learned positions' model after its fourth step."""
    if isinstance(event, StepRecord) and event.step == 4 and trainer.model_config == TINY:
        trainer.weights.master.fill_(float("nan"))
        trainer.weights.publish()


def test_a_member_that_diverges_stops_alone_and_says_why(tmp_path: Path) -> None:
    run = experiment(tmp_path)
    status = Session(run, "cpu", poison).perform()
    assert (status.state, status.step) == ("done", LAST)
    assert "Learned" in status.message and "step 5" in status.message
    none, learned = run.members()
    assert none.status().test_accuracy is not None and learned.status().test_accuracy is None
    assert [e["event"] for e in of_kind(learned, "event")] == ["diverged"] and not of_kind(none, "event")
    assert open_model(learned.snapshot_path()).step <= 5


def test_a_member_that_diverged_stays_so_when_the_others_are_resumed(tmp_path: Path) -> None:
    run = experiment(tmp_path)

    def stop_later(event: Event, trainer: Trainer) -> None:
        poison(event, trainer)
        if isinstance(event, StepRecord) and event.step == 7:
            run.control("stop")

    assert Session(run, "cpu", stop_later).perform().state == "stopped"
    status = Session(run, "cpu").perform()
    assert status.state == "done" and "step 5" in status.message
    _, learned = run.members()
    assert [e["event"] for e in of_kind(learned, "event")] == ["diverged", "resumed"]


def test_an_experiment_whose_members_all_diverge_has_diverged(tmp_path: Path) -> None:
    run = experiment(tmp_path)

    def poison_all(event: Event, trainer: Trainer) -> None:
        if isinstance(event, StepRecord) and event.step == 4:
            trainer.weights.master.fill_(float("nan"))
            trainer.weights.publish()

    status = Session(run, "cpu", poison_all).perform()
    assert status.state == "diverged" and "None: " in status.message and "Learned: " in status.message


def test_a_member_with_its_own_recipe_trains_as_it_would_alone(tmp_path: Path) -> None:
    run = own_recipes(tmp_path)
    status = Session(run, "cpu").perform()
    assert (status.state, status.progress) == ("done", 1.0)
    assert [member.status().step for member in run.members()] == [9, 9, 4, 5]
    for member, written in zip(OWN, run.members(), strict=True):
        assert written.config().train == (member.train or TRAIN)
        alone = Run.create(tmp_path, replace(run.config().for_member(member), created=0.0))
        Session(alone, "cpu").perform()
        assert same_weights(written, alone)


def test_a_member_that_stops_at_its_aim_leaves_the_others_their_time(tmp_path: Path) -> None:
    long = replace(TRAIN, epochs=11)
    easy = Member("easy", "Easy", TINY, replace(long, stop_accuracy=0.01))
    members = (easy, Member("whole", "Whole", TINY))
    run = Run.create(tmp_path, RunConfig(TINY, GREY, long, "aims", members=members))
    status = Session(run, "cpu").perform()
    stopped, whole = (member.status() for member in run.members())
    assert stopped.step < whole.step == whole.total_steps == status.step and status.progress == 1.0
    assert status.state == "done" and "Easy: Stopped at the target accuracy" in status.message
    assert stopped.test_accuracy is not None and whole.test_accuracy is not None


def test_an_experiment_that_ended_is_as_far_as_its_longest_model(tmp_path: Path) -> None:
    """It said 'epoch 1.0' above a curve of three."""
    members = tuple(Member(f"for{n}", "", TINY, replace(TRAIN, epochs=float(n))) for n in (1, 2))
    run = Run.create(tmp_path, RunConfig(TINY, GREY, TRAIN, members=members))
    status, longest = Session(run, "cpu").perform(), run.members()[1].status()
    assert (status.state, status.step, status.epoch) == ("done", LAST, longest.epoch)


def test_members_of_unequal_batches_are_always_equally_far(tmp_path: Path) -> None:
    run, reached = own_recipes(tmp_path), {}
    apart = []

    def listen(event: Event, trainer: Trainer) -> None:
        if isinstance(event, StepRecord):
            reached[id(trainer)] = (trainer.progress, 1 / (trainer.total_steps or 1))
            if len(reached) == len(OWN):
                apart.append(
                    max(p - step for p, step in reached.values()) - min(p for p, _ in reached.values())
                )

    Session(run, "cpu", listen).perform()
    assert max(apart) < 1e-9  # nobody has begun a step while another was behind the place where it began


def test_a_config_without_members_recipes_is_read_as_it_was_written(tmp_path: Path) -> None:
    values = config_to_values(own_recipes(tmp_path).config())
    assert config_from_values(values).members == OWN
    assert [set(entry) for entry in values["members"]][0] == {"name", "title", "model"}
    for entry in values["members"]:
        entry.pop("train", None)  # as every run before had it
    assert [member.train for member in config_from_values(values).members] == [None] * len(OWN)
    values["members"][1]["train"] = values["model"]
    with pytest.raises(ValueError, match="expected a train config"):
        config_from_values(values)


def test_shuffled_patches_change_nothing_where_there_are_no_positions(tmp_path: Path) -> None:
    run = experiment(tmp_path)
    Session(run, "cpu").perform()
    none, learned = (of_kind(member, "shuffled") for member in run.members())
    steps = run.members()[0].snapshots()
    assert [(r["split"], r["step"]) for r in none] == [("validation", s) for s in steps] + [("test", LAST)]
    assert all(
        r["accuracy"] == pytest.approx(r["shuffled"], abs=0.01) for r in none
    )  # bf16 sums in another order
    last = learned[-1]
    assert last["accuracy"] == run.members()[1].status().test_accuracy
    assert sum(map(sum, last["confusion"])) == last["images"] and last["shuffled"] != last["accuracy"]


def test_the_race_differs_in_nothing_but_positions() -> None:
    for dataset in RACES:
        config = positions_race(dataset, seed=3, epochs=1.0)
        models = [member.model for member in config.members]
        assert all(isinstance(model, ViTConfig) for model in models)
        assert {replace(model, positions="none") for model in models} == {config.model}
        assert [member.name for member in config.members] == list(CODES)
        assert (config.train.dataset, config.train.seed, config.train.epochs) == (dataset, 3, 1.0)
    with pytest.raises(ValueError, match="received 'marbles'"):
        positions_race("marbles")


def test_members_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    config = experiment(tmp_path).config()
    a, b = MEMBERS
    for changes, reason in (
        ({"members": (a,)}, "2 to 8 members"),
        ({"members": (a, replace(b, name="none"))}, "different names"),
        ({"members": (a, replace(b, name="../x"))}, "letters, digits and underscores"),
        ({"model": b.model}, "first member's"),
        ({"train": replace(TRAIN, epochs=None, seconds=3.0)}, "counted in epochs"),
        ({"members": (a, replace(b, train=replace(TRAIN, epochs=None, seconds=3.0)))}, "counted in epochs"),
        ({"members": (a, replace(b, train=replace(TRAIN, dataset="shapes")))}, "share dataset 'digits'"),
        (
            {"members": (a, replace(b, train=replace(TRAIN, threads=2)))},
            "share threads 1, received 2 for learned",
        ),
        (
            {"members": (a, replace(b, train=replace(TRAIN, validation_fraction=0.2)))},
            "share validation_fraction",
        ),
        (
            {"members": (a, replace(b, train=replace(TRAIN, epochs=9999, batch_size=1, train_fraction=1)))},
            "updates; the limit is",
        ),
    ):
        with pytest.raises(ValueError, match=reason):
            replace(config, **changes)  # type: ignore[arg-type]


def test_an_experiment_is_renamed_copied_and_deleted_whole(tmp_path: Path) -> None:
    run = experiment(tmp_path)
    run.rename("renamed")
    copy = duplicate(run, train=replace(TRAIN, seed=5))
    assert copy.config().members == MEMBERS
    assert [member.config().train.seed for member in copy.members()] == [5, 5]
    with pytest.raises(RunError, match="delete the experiment"):
        run.members()[0].delete()
    with pytest.raises(RunError, match="does not exist"):
        Run.find(tmp_path, f"{run.id}/other")
    with pytest.raises(RunError, match="expected a run"):
        Run.find(tmp_path, f"{run.id}/../{copy.id}")
    copy.delete()
    assert [found.id for found in list_runs(tmp_path)] == [run.id]


@pytest.mark.slow  # a process that trains
def test_a_worker_trains_it_in_one_place_and_a_kill_costs_no_member_its_step(tmp_path: Path) -> None:
    executor, beat = LocalExecutor(tmp_path, slots=1, warm=False), threading.Event()

    def eventually(state: str) -> None:
        for _ in range(24_000):
            if run.status().state == state:
                return
            beat.wait(0.01)
        raise AssertionError(f"it never was {state}, it is {run.status()}")

    try:
        run = executor.start(replace(experiment(tmp_path / "other").config(), created=0.0))
        run.control("pause")
        waiting = executor.start(replace(run.config().for_member(MEMBERS[0]), created=0.0))
        assert executor.running() == [run.id] and executor.queue_position(waiting) == 1
        executor.stop(waiting)
        eventually("paused")
        held = run.status().step
        os.kill(run.status().pid, signal.SIGKILL)
        eventually("interrupted")
        assert [member.status().state for member in run.members()] == ["interrupted"] * 2
        executor.resume(run)
        eventually("done")
    finally:
        executor.close()
    for member in run.members():
        assert [record["step"] for record in of_kind(member, "step")] == list(
            range(1, LAST + 1)
        ) and held < LAST
