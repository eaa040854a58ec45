"""Test that the next server starts the runs that waited in the queue of a killed one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser.conftest import ROOT, serving
from vitviz.training.run_directory import Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
LONGEST_S = 240.0  # 100 s at a load of 13; 20 s until the lock is stale, 10 s until the queue is checked
QUEUE = """
import sys
from pathlib import Path
from tests.robustness.run_files import GREY, MODEL, TRAIN
from vitviz.training.executor import LocalExecutor
from vitviz.training.run_config import RunConfig
executor = LocalExecutor(Path(sys.argv[1]), slots=1)
for number in range(3):
    print(executor.start(RunConfig(MODEL, GREY, TRAIN, f"run {number}", owner=f"owner {number}")).id, flush=True)
sys.stdin.read()
"""


def test_the_next_server_starts_what_a_killed_one_had_queued(
    tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """They stayed 'queued' until their users pressed Resume, although the documents said otherwise."""
    folder = tmp_path / "runs"
    killed = subprocess.Popen(
        [sys.executable, "-c", QUEUE, str(folder)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert killed.stdin is not None and killed.stdout is not None
    with killed, killed.stdin, killed.stdout:
        runs = [Run(folder / killed.stdout.readline().decode().strip()) for _ in range(3)]
        killed.kill()
    waiting = [run for run in runs if run.status().state == "queued"]
    assert len(waiting) >= 2
    with serving(tmp_path):
        began_s = time.monotonic()
        while any(run.status().state != "done" for run in waiting):
            assert time.monotonic() - began_s < LONGEST_S, [run.status() for run in waiting]
            time.sleep(0.2)
        record_property("seconds until all were trained", round(time.monotonic() - began_s, 1))
    for run in waiting:  # once: no step is recorded twice
        steps = [record["step"] for record in run.records()[0] if record["kind"] == "step"]
        assert steps == list(range(1, len(steps) + 1)) and len(steps) > 1
