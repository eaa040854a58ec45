"""Worker processes: warm, queued, shared fairly, restarted, and never orphaned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.training_helpers import GREY, TINY
from vitviz.config import TrainConfig
from vitviz.training.executor import Executor, ExecutorError, LocalExecutor
from vitviz.training.queue_order import QUEUED_PER_OWNER
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

LONG = TrainConfig(epochs=1000, batch_size=32, train_fraction=0.1, snapshots=4)
SHORT = replace(LONG, epochs=2)
WAIT_S = 480  # a busy machine starts a trainer slowly


def eventually(true: Callable[[], object]) -> None:
    """Wait until it is true; a test that waits for nothing fails in the end."""
    beat = threading.Event()
    for _ in range(WAIT_S * 100):
        if true():
            return
        beat.wait(0.01)
    raise AssertionError("it never became true")


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def config(owner: str, train: TrainConfig = LONG) -> RunConfig:
    return RunConfig(TINY, GREY, train, owner=owner)


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalExecutor]:
    made = LocalExecutor(tmp_path_factory.mktemp("runs"), slots=2)
    yield made
    made.close()
    assert all(gone(pid) for pid in made.process_ids())


@pytest.fixture(autouse=True)
def nothing_left(executor: LocalExecutor) -> Iterator[None]:
    yield
    for path in executor.root.iterdir():
        executor.stop(Run(path))
    eventually(lambda: not executor.running())


def obeys(executor: Executor, run: Run) -> None:
    """A run that is being trained is paused, makes one step, and goes on."""
    executor.pause(run)
    eventually(lambda: run.status().state == "paused")
    step = run.status().step
    executor.step(run)
    eventually(lambda: run.status().step == step + 1)
    executor.resume(run)
    eventually(lambda: run.status().step > step + 1)


def survives_a_kill(executor: Executor, run: Run) -> None:
    """A run whose trainer is killed while it pauses is interrupted, and goes on from its save."""
    eventually(lambda: executor.queue_position(run) is None and training(run))
    executor.pause(run)
    eventually(lambda: run.status().state == "paused")  # pausing saves
    step = run.status().step
    os.kill(run.status().pid, signal.SIGKILL)
    eventually(lambda: "signal 9" in run.status().message)
    assert run.status().state == "interrupted"
    executor.resume(run)
    eventually(lambda: executor.queue_position(run) is None and training(run) and run.status().step > step)
    steps = [record["step"] for record in run.records()[0] if record["kind"] == "step"]
    assert steps == list(range(1, len(steps) + 1))


def training(run: Run) -> bool:
    return run.status().state == "running" and run.status().step > 0


@pytest.mark.slow
def test_a_run_is_trained_to_its_end_in_another_process(executor: LocalExecutor) -> None:
    run = executor.start(config("ann", SHORT))
    eventually(lambda: run.status().state == "done")
    assert run.status().pid != os.getpid()
    assert run.records()[0][-1]["split"] == "test"


@pytest.mark.slow  # a process that trains
def test_runs_wait_in_order_and_nobody_takes_every_place(executor: LocalExecutor) -> None:
    first, second = executor.start(config("ann")), executor.start(config("ann"))
    assert (executor.queue_position(first), executor.queue_position(second)) == (None, 1)
    other = executor.start(config("bob"))
    assert executor.queue_position(other) is None
    eventually(lambda: training(first) and training(other))
    assert len(executor.process_ids()) == 2
    third = executor.start(config("cem", SHORT))
    # A session's second run waits for everybody's first.
    assert (second.status().state, executor.queue_position(second), executor.queue_position(third)) == (
        "queued",
        2,
        1,
    )
    executor.stop(second)
    assert second.status().state == "stopped" and executor.queue_position(third) == 1
    executor.stop(first)
    eventually(lambda: third.status().state == "done")
    assert first.status().state == "stopped"


@pytest.mark.slow  # a process that trains
def test_a_run_that_is_stopped_before_its_trainer_has_loaded_is_stopped_at_once(tmp_path: Path) -> None:
    """Start, stop, four times in a row on a server whose worker still loads: none stays 'queued'."""
    executor = LocalExecutor(tmp_path, slots=2, warm=False)
    try:
        made = []
        for _ in range(4):
            made.append(executor.start(config("ann")))
            executor.stop(made[-1])
            assert [run.status().state for run in made] == ["stopped"] * len(made)
        again = made[0]
        executor.resume(again)  # while its first trainer has yet to find the command
        assert again.status().state == "queued"
        eventually(lambda: training(again))
        assert [run.status().state for run in made[1:]] == ["stopped"] * 3
        assert not [record for run in made[1:] for record in run.records()[0]]
    finally:
        executor.close()


@pytest.mark.slow
def test_a_user_cannot_fill_the_queue(executor: LocalExecutor) -> None:
    runs = [executor.start(config("ann")) for _ in range(1 + QUEUED_PER_OWNER)]
    with pytest.raises(ExecutorError, match="4 queued runs"):
        executor.start(config("ann"))
    with pytest.raises(ExecutorError, match="already being trained"):
        executor.submit(runs[0])


@pytest.mark.slow  # a process that trains
def test_pause_step_and_resume_reach_the_trainer(executor: LocalExecutor) -> None:
    run = executor.start(config("ann"))
    eventually(lambda: training(run))
    obeys(executor, run)


@pytest.mark.slow  # a process that trains
def test_a_killed_worker_is_noticed_and_its_run_goes_on(executor: LocalExecutor) -> None:
    survives_a_kill(executor, executor.start(config("ann")))


SERVER = """
import sys, json
from vitviz.training.executor import LocalExecutor
executor = LocalExecutor(sys.argv[1], slots=1)
print(json.dumps(executor.process_ids()), flush=True)
sys.stdin.read()
"""


def test_no_worker_outlives_a_killed_server(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert server.stdin is not None and server.stdout is not None
    with server.stdin, server.stdout:
        workers = json.loads(server.stdout.readline())
        server.kill()
        server.wait()
    assert workers
    eventually(lambda: all(gone(pid) for pid in workers))


@pytest.mark.slow  # a process that trains
def test_a_stop_before_the_trainer_listens_is_not_lost(executor: LocalExecutor) -> None:
    run = executor.start(config("ann"))
    executor.stop(run)
    eventually(lambda: run.status().state == "stopped")
    assert run.status().step <= 1 and "Resume" in run.status().message
