"""The executor on a Dask cluster of 127.0.0.1: the same runs and commands, and what is reported when it breaks."""

from __future__ import annotations

import ctypes
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cluster import Cluster
from tests.unit.test_executor import LONG, SHORT, config, eventually, gone, obeys, survives_a_kill, training
from vitviz.experiments.experiment import Cell, Experiment, collected, run_on_cluster
from vitviz.training import open_executor as open_module
from vitviz.training.dask_executor import LOST, DaskExecutor
from vitviz.training.executor import ExecutorError, LocalExecutor, QueuedTraining
from vitviz.training.open_executor import open_executor
from vitviz.training.run_directory import Run


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.add_worker()
    yield made
    made.close()


@pytest.fixture
def executor(cluster: Cluster, tmp_path: Path) -> Iterator[DaskExecutor]:
    made = DaskExecutor(tmp_path / "runs", cluster.address)
    yield made
    for path in made.root.iterdir():
        made.stop(Run(path))
    eventually(lambda: not made.running())
    made.close()


@pytest.mark.slow  # a cluster of processes
def test_a_run_is_trained_paused_stepped_stopped_and_resumed(executor: DaskExecutor) -> None:
    run = executor.start(config("ann"))
    eventually(lambda: executor.queue_position(run) is None and training(run))
    obeys(executor, run)
    later = executor.start(config("bob", SHORT))
    assert executor.queue_position(later) == 1
    executor.stop(run)
    eventually(lambda: run.status().state == "stopped")
    stopped = run.status().step
    eventually(lambda: later.status().state == "done")
    executor.resume(run)
    eventually(lambda: training(run) and run.status().step > stopped)
    steps = [record["step"] for record in run.records()[0] if record["kind"] == "step"]
    assert steps == list(range(1, len(steps) + 1))


def test_a_scheduler_that_is_gone_is_asked_seldom_and_breaks_no_page(tmp_path: Path) -> None:
    class Gone:
        status, scheduler, asked = "running", SimpleNamespace(ncores=None), 0

        def sync(self, function: object, callback_timeout: float) -> dict[str, int]:
            self.asked += 1
            raise RuntimeError("no connection")

    executor = DaskExecutor(tmp_path / "runs", "tcp://127.0.0.1:1")
    executor._client = client = Gone()
    run = Run.create(executor.root, config("ann"))
    executor._queue.append(QueuedTraining(run.directory, "ann", 0))
    assert executor.queue_position(run) == 1
    eventually(executor.trouble)
    assert [executor.queue_position(run) for _ in range(5)] == [1] * 5 and client.asked == 1
    with pytest.raises(ExecutorError, match="does not respond"):
        executor.start(config("bob"))
    assert executor.trouble() == "the Dask cluster at tcp://127.0.0.1:1 does not respond"


@pytest.mark.slow  # a cluster of processes
def test_a_killed_trainer_is_noticed_and_its_run_goes_on(executor: DaskExecutor) -> None:
    survives_a_kill(executor, executor.start(config("ann")))


@pytest.mark.slow  # a cluster of processes
def test_a_machine_that_is_lost_is_reported_and_another_takes_the_run_up(
    cluster: Cluster, executor: DaskExecutor
) -> None:
    run = executor.start(config("ann"))
    eventually(lambda: executor.queue_position(run) is None and training(run))
    executor.pause(run)
    eventually(lambda: run.status().state == "paused")
    step, trainer = run.status().step, run.status().pid
    machine = cluster.processes[1]
    machine.kill()
    machine.wait()
    eventually(lambda: gone(trainer))  # nothing goes on where nobody watches it
    eventually(lambda: run.status().state == "interrupted")
    cluster.processes[1] = cluster.add_worker()
    eventually(lambda: not executor.running())
    assert run.status().message == f"{LOST}. Resume to continue from the last save."
    executor.resume(run)
    eventually(lambda: executor.queue_position(run) is None and training(run) and run.status().step > step)


def keep_interpreter(seconds: int) -> None:
    ctypes.PyDLL(None).sleep(seconds)


def fill_memory(megabytes: int) -> int:
    memory = bytearray(megabytes * 2**20)
    memory[::4096] = b"1" * len(memory[::4096])
    time.sleep(60)
    return len(memory)


@pytest.mark.slow  # a cluster of processes
@pytest.mark.parametrize(("fault", "amount"), [(keep_interpreter, 20), (fill_memory, 900)])
def test_a_machine_that_its_nanny_kills_costs_the_steps_since_the_last_save_and_trains_nothing_twice(
    tmp_path: Path, fault: Callable[[int], object], amount: int
) -> None:
    """Dask kills a silent worker after its ttl, one at 95 % of its memory at once; it gives its task to the other."""
    pytest.importorskip("distributed")
    cluster = Cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s")
    for _ in range(2):
        cluster.add_worker("--nthreads", "2", "--nworkers", "1", "--memory-limit", "700MiB")
    executor = DaskExecutor(tmp_path / "runs", cluster.address)
    try:
        run = executor.start(config("ann"))
        eventually(lambda: executor.queue_position(run) is None and training(run))
        client, trainer = executor._client, run.status().pid
        tasks = client.sync(client.scheduler.processing)
        (machine,) = [address for address, names in tasks.items() if names]
        beside = client.submit(fault, amount, workers=[machine], pure=False)
        eventually(lambda: run.status().state == "interrupted")
        eventually(lambda: gone(trainer))
        assert run.status().message == f"{LOST}. Resume to continue from the last save."
        beside.cancel()
        eventually(lambda: not executor.running())
        steps = [record["step"] for record in run.records()[0] if record["kind"] == "step"]
        assert steps == list(range(1, len(steps) + 1)) and run.status().pid == trainer
    finally:
        cluster.close()
        executor.close()


@pytest.mark.slow  # a cluster of processes
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "hangs"])
def test_a_scheduler_that_dies_is_reported_and_loses_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("vitviz.training.dask_executor.CONNECT_S", 2.0)
    cluster = Cluster(tmp_path)
    cluster.add_worker()
    executor = DaskExecutor(tmp_path / "runs", cluster.address)
    try:
        run = executor.start(config("ann"))
        eventually(lambda: executor.queue_position(run) is None and training(run))
        cluster.processes[0].send_signal(how)
        eventually(lambda: executor._count_slots() is not None and executor.trouble())
        with pytest.raises(ExecutorError, match="does not respond"):
            executor.start(config("bob", SHORT))
        assert len(list(executor.root.iterdir())) == 1  # nothing is left of what could not be taken
        assert executor.queue_position(run) is None  # no page waits for the scheduler
        step = run.status().step
        if how == signal.SIGSTOP:  # the trainer writes to the folder, and needs nobody
            eventually(lambda: run.status().step > step)
        else:
            eventually(lambda: run.status().state == "interrupted")
            returned = "the cluster's scheduler is gone; resume goes on from the last save"
            assert run.status().message == returned and len(run.records()[0]) > 1
    finally:
        cluster.close()
        executor.close()


@pytest.mark.slow  # a cluster of processes
def test_the_lease_ends_a_run_that_nobody_watches(executor: DaskExecutor) -> None:
    run = executor.start(replace(config("ann", LONG), lease_s=2.0))
    eventually(lambda: executor.queue_position(run) is None and run.status().state == "stopped")
    assert "no browser" in run.status().message


def test_without_a_cluster_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_DASK", "tcp://127.0.0.1:9")
    monkeypatch.setattr("vitviz.training.dask_executor.CONNECT_S", 0.5)
    executor = open_executor(tmp_path)
    assert isinstance(executor, DaskExecutor)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExecutorError, match="'distributed' is not installed"):
        executor.start(config("ann"))
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
    monkeypatch.delenv("VITVIZ_DASK")
    monkeypatch.setattr(LocalExecutor, "warm_up", lambda self: None)
    assert isinstance(open_executor(tmp_path), LocalExecutor)


def test_the_environment_says_how_many_train_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VITVIZ_DASK", raising=False)
    made = []
    monkeypatch.setattr(open_module, "LocalExecutor", lambda root, slots: made.append(slots))
    for returned in ("", "3"):
        monkeypatch.setenv("VITVIZ_TRAINERS", returned)
        open_executor(tmp_path)
    assert made == [None, 3]
    for wrong in ("0", "-1", "two", "²"):
        monkeypatch.setenv("VITVIZ_TRAINERS", wrong)
        with pytest.raises(ValueError, match="positive integer"):
            open_executor(tmp_path)


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("vitviz.training.dask_executor.CONNECT_S", 0.5)
    with pytest.raises(ExecutorError, match="tcp://127.0.0.1:9 does not respond"):
        DaskExecutor(tmp_path, "tcp://127.0.0.1:9").start(config("ann"))


@pytest.mark.slow  # a cluster of processes
def test_an_experiment_is_measured_by_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    experiment = Experiment("tiny", "Tiny", [{"n": n} for n in (3, 1, 2)], twice)
    rows = list(run_on_cluster(experiment, tmp_path, experiment.cells, cluster.address))
    assert sorted(row["found"]["twice"] for row in rows) == [2, 4, 6]
    assert [row["twice"] for row in collected(experiment, tmp_path, "").rows] == [6, 2, 4]
    assert list(run_on_cluster(experiment, tmp_path, experiment.cells, cluster.address)) == []


def twice(cell: Cell, folder: Path) -> dict[str, int]:
    """Runs on the cluster's side, which sees the same folder."""
    assert folder.is_dir()
    return {"twice": 2 * cell["n"]}
