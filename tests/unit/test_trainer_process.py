"""A trainer that dies says why: in the run's directory, and its last line in what the page shows."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from tests.unit.test_executor import config, eventually
from vitviz.training import executor as executor_module
from vitviz.training import trainer_process
from vitviz.training.executor import LocalExecutor
from vitviz.training.queue_order import QueuedTraining
from vitviz.training.run_directory import Run
from vitviz.training.trainer_process import KEPT_LINES, LINE_CHARS, LOG, TrainerProcess


def runs_instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(trainer_process, "_COMMAND", (sys.executable, "-c", code))


def test_one_that_dies_at_import_leaves_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_instead(monkeypatch, "raise ImportError('cannot import torch from /srv/secret/lib/torch.so')")
    executor = LocalExecutor(tmp_path, slots=1, warm=False)
    run = executor.start(config("ann"))
    eventually(lambda: run.status().state == "interrupted")
    message = run.status().message
    assert "exit code 1: ImportError: cannot import torch from torch.so)" in message
    log = (run.directory / LOG).read_text()
    assert (
        log.startswith("Traceback") and "/srv/secret/lib" in log
    )  # whoever looks after the server sees it all
    executor.close()


def test_one_that_dies_before_its_order_comes_leaves_its_last_words_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_instead(monkeypatch, "raise ImportError('no torch')")
    ended, wait = threading.Event(), TrainerProcess.wait
    monkeypatch.setattr(TrainerProcess, "wait", lambda process: (wait(process), ended.set()))

    class Late(LocalExecutor):
        def _launch(self, order: QueuedTraining) -> None:
            self._spawn()
            assert ended.wait(60)
            super()._launch(order)

    executor = Late(tmp_path, slots=1, warm=False)
    run = executor.start(config("ann"))
    eventually(lambda: run.status().state == "interrupted")
    assert "exit code 1: ImportError: no torch)" in run.status().message
    assert (run.directory / LOG).read_text().startswith("Traceback")
    executor.close()


def test_what_is_kept_of_a_talker_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_instead(
        monkeypatch, "import sys; [print('x' * 1000, i, file=sys.stderr) for i in range(2000)]; sys.exit(3)"
    )
    process = TrainerProcess()
    assert list(process.replies()) == []
    process.wait()
    assert process.describe_death(tmp_path).startswith("The trainer process ended (exit code 3: ")
    process.close_pipes()
    process.reap()
    lines = (tmp_path / LOG).read_text().splitlines()
    assert len(lines) == KEPT_LINES and max(map(len, lines)) <= LINE_CHARS and lines[-1].endswith("1999")


def test_a_killed_one_is_not_said_to_have_erred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_instead(monkeypatch, "import os; os.write(2, b'a warning\\n'); os.kill(os.getpid(), 9)")
    process = TrainerProcess()
    process.wait()
    assert process.describe_death(tmp_path) == "The trainer process ended (killed by signal 9)"
    process.close_pipes()
    process.reap()
    assert (tmp_path / LOG).read_text() == "a warning"


def test_a_run_is_interrupted_once_its_cause_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that read the run between its trainer's end and the executor's words never showed the cause."""
    program = (
        "import os, json, sys, pathlib; run = pathlib.Path(json.loads(input())['run']) / 'status.json';"
        " values = json.loads(run.read_text()); import time;"
        " values.update(state='running', pid=os.getpid(), heartbeat=time.time());"
        " run.write_text(json.dumps(values)); os.kill(os.getpid(), 9)"
    )
    runs_instead(monkeypatch, program)
    seen: list[str] = []

    mark_dead = executor_module.mark_dead

    def read_first(order: QueuedTraining, cause: str) -> None:
        seen.append(Run(order.directory).status().state)
        mark_dead(order, cause)

    monkeypatch.setattr(executor_module, "mark_dead", read_first)
    executor = LocalExecutor(tmp_path, slots=1, warm=False)
    run = executor.start(config("ann"))
    eventually(lambda: run.status().state == "interrupted")
    assert seen == ["running"] and "killed by signal 9" in run.status().message
    executor.close()
