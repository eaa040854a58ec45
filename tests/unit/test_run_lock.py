"""One process trains a run, however many servers share the runs' folder."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.training_helpers import GREY, TINY, digits_run
from vitviz.config import TrainConfig
from vitviz.heartbeat import Heartbeats
from vitviz.training import executor, run_lock
from vitviz.training.atomic_files import read_json
from vitviz.training.executor import Executor, ExecutorError, find_abandoned, write_state
from vitviz.training.queue_order import QUEUED_PER_OWNER, QueuedTraining
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session


class Server(Executor):
    """One server of several: it takes up runs, and trains them when the test says so."""

    def __init__(self, root: Path, places: int = 1) -> None:
        super().__init__(root)
        self.places, self.training = places, dict[Path, QueuedTraining]()

    def _count_slots(self) -> int:
        return self.places

    def _busy(self) -> dict[Path, QueuedTraining]:
        return self.training

    def _launch(self, order: QueuedTraining) -> None:
        self.training[order.directory] = order

    def _kill(self, order: QueuedTraining) -> None:
        raise AssertionError("no trainer here disobeys")

    def train(self, order: QueuedTraining) -> str:
        state = (
            Session(Run(order.directory), "cpu", control_at=order.control_at, token=order.token)
            .perform()
            .state
        )
        del self.training[order.directory]
        return state


def silent(directory: Path) -> None:
    """The holder of a claim has died: nobody renews it. Who asks now has not looked on."""
    os.utime(directory / "claim.json", (1.0, 1.0))
    run_lock._holders = Heartbeats(run_lock.STALE_S)


def test_of_many_that_claim_a_run_one_succeeds(tmp_path: Path) -> None:
    for attempt in range(60):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        if attempt % 2:  # a dead one lies there
            assert run_lock.claim_run(directory, "dead")
            silent(directory)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(run_lock.claim_run, [directory] * 8, "abcdefgh"))
        assert sum(found) == 1
        assert run_lock.is_claimed_by(directory, "abcdefgh"[found.index(True)])
        assert [path.name for path in directory.iterdir()] == ["claim.json"]


def test_a_claim_is_renewed_released_and_taken_over_only_from_the_dead(tmp_path: Path) -> None:
    assert run_lock.claim_run(tmp_path, "a") and run_lock.claim_run(tmp_path, "a")
    assert not run_lock.claim_run(tmp_path, "b") and not run_lock.renew(tmp_path, "b")
    run_lock.release(tmp_path, "b")
    assert run_lock.is_held(tmp_path)
    silent(tmp_path)
    assert run_lock.renew(tmp_path, "a") and not run_lock.claim_run(tmp_path, "b")
    silent(tmp_path)
    assert not run_lock.is_held(tmp_path)
    assert run_lock.claim_run(tmp_path, "b") and not run_lock.renew(tmp_path, "a")
    run_lock.release(tmp_path, "b")
    assert not run_lock.is_held(tmp_path) and run_lock.claim_run(tmp_path, "a")


def test_two_servers_on_one_folder_train_a_run_once(tmp_path: Path) -> None:
    one, other = Server(tmp_path), Server(tmp_path)
    run = one.start(SHORT)
    for ask in (other.submit, other.resume):
        with pytest.raises(ExecutorError, match="another server"):
            ask(run)
    assert other.queue_position(run) is None and run.status().state == "queued"
    assert one.train(one.training[run.directory]) == "done"
    steps = [entry["step"] for entry in run.records()[0] if entry["kind"] == "step"]
    assert steps == sorted({*steps}) and len(steps) > 1
    assert not run_lock.is_held(run.directory)
    one.close()
    other.close()


def names(runs: list[Run]) -> list[str]:
    return [run.id for run in runs]


SHORT = RunConfig(TINY, GREY, TrainConfig(epochs=1, batch_size=32, train_fraction=0.1))


def test_what_waited_on_a_server_that_died_is_taken_up_by_another(tmp_path: Path) -> None:
    dead, alive = Server(tmp_path, places=0), Server(tmp_path)
    run = dead.start(SHORT)
    assert alive.take_up_queued() == []  # its server lives
    silent(run.directory)
    assert names(alive.take_up_queued()) == [run.id]
    assert alive.take_up_queued() == []
    assert alive.train(alive.training[run.directory]) == "done"
    assert alive.take_up_queued() == []
    dead.close()
    alive.close()


def test_each_run_is_taken_up_once_and_the_longest_waiting_first(tmp_path: Path) -> None:
    dead, servers = Server(tmp_path, places=0), [Server(tmp_path, places=0) for _ in range(6)]
    waiting = [dead.start(replace(SHORT, owner=f"owner {number}")) for number in range(5)]
    stopped = dead.start(replace(SHORT, owner="another"))
    dead.stop(stopped)
    for run in waiting:
        silent(run.directory)
    assert names(find_abandoned(tmp_path)) == names(waiting)
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda server: server.take_up_queued(), servers))
    assert sorted(names(sum(taken, []))) == sorted(names(waiting))
    assert find_abandoned(tmp_path) == []
    for server in (dead, *servers):
        server.close()


@pytest.mark.parametrize("ending", ["done", "stopped"])
def test_what_another_server_has_ended_meanwhile_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    dead, other, late = Server(tmp_path, places=0), Server(tmp_path), Server(tmp_path)
    run = dead.start(SHORT)
    silent(run.directory)
    found = find_abandoned(tmp_path)
    if ending == "done":
        other.take_up_queued()
        other.train(other.training[run.directory])
    else:
        run_lock.release(run.directory, read_json(run.directory / "claim.json")["token"])
        write_state(run, "stopped", "")
    monkeypatch.setattr(executor, "find_abandoned", lambda _: found)
    assert late.take_up_queued() == [] and late.training == {}
    assert run.status().state == ending and not run_lock.is_held(run.directory)
    for server in (dead, other, late):
        server.close()


def test_what_a_queue_has_no_room_for_waits_until_it_has(tmp_path: Path) -> None:
    dead, alive = Server(tmp_path, places=0), Server(tmp_path, places=0)
    waiting = [dead.start(replace(SHORT, owner="one")) for _ in range(QUEUED_PER_OWNER)]
    for run in waiting:
        silent(run.directory)
    own = alive.start(replace(SHORT, owner="one"))
    assert names(alive.take_up_queued()) == names(waiting[:-1])
    assert waiting[-1].status().state == "queued"
    alive.stop(own)
    assert names(alive.take_up_queued()) == names(waiting[-1:])
    dead.close()
    alive.close()


def test_what_waits_when_a_server_closes_is_left_to_the_next(tmp_path: Path) -> None:
    ending, following = Server(tmp_path, places=0), Server(tmp_path)
    run = ending.start(SHORT)
    ending.close()
    silent(run.directory)
    assert names(following.take_up_queued()) == [run.id]
    following.close()


def test_a_trainer_that_has_lost_its_run_writes_nothing_more(tmp_path: Path) -> None:
    run = digits_run(tmp_path, epochs=1000)
    written: list[bytes] = []

    def taken_over(*_: object) -> None:
        if not written and run.status().step > 3:
            (run.directory / "claim.json").write_text(json.dumps({"token": "another"}))
            written.extend((run.directory / name).read_bytes() for name in ("records.jsonl", "status.json"))

    Session(run, "cpu", listen=taken_over).perform()
    assert written == [(run.directory / name).read_bytes() for name in ("records.jsonl", "status.json")]
    assert run_lock.is_claimed_by(run.directory, "another")


def test_a_run_that_another_trains_is_left_alone(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    assert run_lock.claim_run(run.directory, "another")
    before = sorted(path.name for path in run.directory.rglob("*"))
    assert Session(run, "cpu").perform().state == "new"
    assert sorted(path.name for path in run.directory.rglob("*")) == before


def test_who_comes_late_to_a_dead_claim_removes_no_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the place, empty by then, and its hand another had claimed the run: two held it."""
    path, look = tmp_path / "claim.json", run_lock._stale

    def late(at: Path, **how: bool) -> bool:
        found = look(at, **how)
        if at == path:
            assert run_lock.claim_run(tmp_path, "new")
        return found

    monkeypatch.setattr(run_lock, "_stale", late)
    run_lock._clear_away(path)
    assert run_lock.is_claimed_by(tmp_path, "new")
