"""Two servers on one runs folder, whose processes are killed again and again, train a run without losing a record."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.training_helpers import GREY, TINY
from vitviz.config import TrainConfig
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

KILLS = 20  # of a trainer, and as many of a server
WAIT_S = 300.0
ROOT = Path(__file__).parents[2]
SERVER = """
import sys, time
from contextlib import suppress
from vitviz.training.executor import ExecutorError, LocalExecutor
from vitviz.training.run_directory import RunError, list_runs
executor = LocalExecutor(sys.argv[1], slots=1)
while True:
    for run in list_runs(sys.argv[1]):
        if run.status().state in ("new", "interrupted"):
            with suppress(ExecutorError, RunError):  # the other server has it
                executor.resume(run)
    time.sleep(0.2)
"""


def start_server(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", SERVER, str(folder)], env=environment)


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_true():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(2 * KILLS * WAIT_S)  # a busy machine takes a minute for each kill
def test_two_servers_under_kills_lose_no_record(tmp_path: Path) -> None:
    run = Run.create(
        tmp_path, RunConfig(TINY, GREY, TrainConfig(epochs=10_000, batch_size=32, train_fraction=0.1))
    )
    servers = [start_server(tmp_path) for _ in range(2)]
    try:
        for kill in range(2 * KILLS):
            first = run.status()
            wait_until(lambda first=first: run.status().step > first.step and run.status().state == "running")
            if kill % 2:
                server = servers.pop(0)
                server.kill()
                server.wait()
                servers.append(start_server(tmp_path))
            else:
                os.kill(run.status().pid, signal.SIGKILL)
                wait_until(lambda: run.status().state != "running")
    finally:
        for server in servers:
            server.kill()
            server.wait()
    records, _ = run.records()
    steps = [record["step"] for record in records if record["kind"] == "step"]
    # A run of so many epochs records every ninth step; one that is recorded twice or left out breaks the row.
    assert len(steps) > 1 and steps == list(range(steps[0], steps[-1] + 1, steps[0]))
