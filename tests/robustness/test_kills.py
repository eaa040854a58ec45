"""Two servers share a runs folder, and servers and trainers are killed in turn: a run loses and repeats nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.robustness.run_files import GREY, MODEL, TRAIN
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

KILLS = 20  # of servers, and as many of trainers
WAIT_S = 120.0  # on a busy machine
SERVER = """
import sys
from pathlib import Path
from vitviz.training.executor import ExecutorError, LocalExecutor
from vitviz.training.run_directory import Run, RunError
executor = LocalExecutor(sys.argv[1], slots=1)
for line in sys.stdin:
    try:
        executor.resume(Run(Path(line.strip())))
    except (RunError, ExecutorError) as error:  # the other server has it
        print(error, file=sys.stderr)
"""


class Server:
    """A process that trains runs of a folder, as the app does."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(folder)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )

    def resume(self, run: Run) -> None:
        """Ask the server to go on with a run."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run.directory}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Kill it as the system does when memory is short."""
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):
            if self.process.stdin is not None:
                self.process.stdin.close()


def wait(condition: Callable[[], bool], run: Run, servers: list[Server]) -> None:
    """Ask both servers to go on with the run until a condition holds: the lock of the run lets one."""
    end, asked = time.monotonic() + WAIT_S, 0.0
    while not condition():
        assert time.monotonic() < end, run.status()
        if time.monotonic() - asked > 3.0:
            asked = time.monotonic()
            for server in servers:
                server.resume(run)
        time.sleep(0.02)


@pytest.mark.slow  # minutes: each server loads torch
@pytest.mark.timeout(1800)
def test_forty_kills_lose_and_repeat_no_step(tmp_path: Path) -> None:
    run = Run.create(tmp_path, RunConfig(MODEL, GREY, replace(TRAIN, epochs=10_000.0)))
    servers = [Server(tmp_path), Server(tmp_path)]
    kills = 0
    try:
        for kill in range(2 * KILLS):
            step = run.status().step
            wait(lambda step=step: run.status().state == "running" and run.status().step > step, run, servers)  # type: ignore[misc]
            if kill % 2 == 0:
                os.kill(run.status().pid, signal.SIGKILL)
                continue
            for number in (kill // 2 % 2, 1 - kill // 2 % 2)[: 1 + (kill % 10 == 9)]:  # now and then both
                servers[number].kill()
                servers[number] = Server(tmp_path)
                kills += 1
    finally:
        for server in servers:
            server.kill()
    assert kills >= KILLS
    wait(lambda: run.status().state == "interrupted", run, [])
    steps = [record["step"] for record in run.records()[0] if record["kind"] == "step"]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 2 * KILLS
