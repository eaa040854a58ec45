"""One process training one run into its directory: records out, commands in, and a last word in the status."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from vitviz.checkpoints import open_model
from vitviz.data.datasets import DatasetError, load_dataset
from vitviz.training.files import append_lines, read_lines, write_status
from vitviz.training.loop import Trainer, train
from vitviz.training.pictures import TrainingData, training_data
from vitviz.training.records import Ended, Evaluation, Event, Snapshot, StepRecord
from vitviz.training.runs import Run, RunConfig, RunError, Status
from vitviz.training.saving import cut_after, load_resume, save_resume, save_snapshot

FLUSH_S = 0.1  # pages that poll see at least four updates a second
STATUS_S = 0.25
RESUME_SAVE_S = 3.0  # at least so long between saves; a killed process loses what came after the last
RESUME_SAVE_SHARE = 0.02  # of the time may go into saving
LEASE_CHECK_S = 1.0
POLL_S = 0.05
PROJECT = Path(__file__).resolve().parents[2]


class Session:
    """Trains a run until it ends, is stopped, or nobody watches it any more.

    Args:
        run: where everything is written.
        device: 'auto', or a torch device.
        listen: told every event, beside the files.
        control_at: commands before this byte are old; None: all that are there now.
    """

    def __init__(
        self,
        run: Run,
        device: str = "auto",
        listen: Callable[[Event, Trainer], None] | None = None,
        control_at: int | None = None,
    ) -> None:
        self.run = run
        self.config: RunConfig = run.config()
        self.device = default_device() if device == "auto" else device
        self._listen = listen
        self._control = run.directory / "control.jsonl"
        self._control_at = run.control_end() if control_at is None else control_at
        self._lines: list[dict[str, Any]] = []
        self._flushed = self._said = self._leased = 0.0
        self._saved, self._save_pause = time.monotonic(), RESUME_SAVE_S
        self._paused = self._stopping = False
        self._steps_wanted = 0
        self._message = ""
        self.status = replace(run.status(), state="starting", message="", pid=os.getpid())

    def perform(self) -> Status:
        """Train to the end; returns how the run stands then. Errors end in the status, not as exceptions."""
        self._say("starting")
        try:
            self._perform()
        except KeyboardInterrupt:
            self._say("stopped", "interrupted from the keyboard; resume goes on from the last save")
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = (
                "the disk is full" if full else f"a file could not be written ({error.strerror or error})"
            )
            self._say(
                "failed", f"{reason}; everything up to the last save is whole, and resume goes on from there"
            )
        except (ValueError, KeyError, DatasetError) as error:
            self._say("failed", str(error))
        except MemoryError:
            self._say("failed", "there was not enough memory for this model and batch")
        except RuntimeError as error:
            self._say(
                "failed", f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
            )
        return self.status

    def _perform(self) -> None:
        torch.set_num_threads(max(1, min(self.config.train.threads, os.cpu_count() or 1)))
        data = training_data(
            load_dataset(self.config.train.dataset, runs_folder=self.run.directory.parent),
            self.config.preparation,
            self.config.train,
        )
        trainer = self.trainer = Trainer(
            self.config.model,
            self.config.train,
            data,
            self.device,
            load_teacher(self.config, self.run.directory.parent),
        )
        self._resume(trainer)
        state, message = "done", ""
        for event in train(trainer):
            self._keep(event, trainer, data)
            if self._listen is not None:
                self._listen(event, trainer)
            if isinstance(event, Ended):
                state, message = event.reason, event.message
            elif isinstance(event, StepRecord) and self._steer(trainer):
                state, message = "stopped", self._message
                break
        self._flush()
        if state != "diverged":  # a diverged run keeps the last good save
            self._save(trainer)
        self._say(state, message)

    def _resume(self, trainer: Trainer) -> None:
        saved = load_resume(self.run)
        if saved is None:
            cut_after(self.run, -1)
            return
        trainer.load_state(*saved)
        cut_after(self.run, trainer.step)
        append_lines(
            self.run.directory / "records.jsonl",
            [{"kind": "event", "step": trainer.step, "event": "resumed", "time": time.time()}],
        )

    def _keep(self, event: Event, trainer: Trainer, data: TrainingData) -> None:
        if isinstance(event, Snapshot):
            save_snapshot(self.run, self.config, data.classes, event)
            self._lines.append(
                {"kind": "snapshot", "step": event.step, "epoch": event.epoch, "seconds": event.seconds}
            )
        elif isinstance(event, StepRecord):
            self._lines.append({"kind": "step", **asdict(event)})
            self._note_step(event, trainer)
        elif isinstance(event, Evaluation):
            self._lines.append({"kind": "evaluation", **asdict(event)})
            name = "test_accuracy" if event.split == "test" else "accuracy"
            self.status = replace(self.status, **{name: event.accuracy})  # type: ignore[arg-type]
        now = time.monotonic()
        if now - self._flushed >= FLUSH_S:
            self._flush()
        if now - self._said >= STATUS_S:
            self._say("running")
        if now - self._saved >= self._save_pause and isinstance(event, StepRecord):
            self._save(trainer)

    def _note_step(self, event: StepRecord, trainer: Trainer) -> None:
        progress = trainer.progress
        left = event.seconds * (1 - progress) / progress if progress > 0 else None
        self.status = replace(
            self.status,
            step=event.step,
            total_steps=trainer.total_steps,
            progress=progress,
            epoch=event.epoch,
            seconds=event.seconds,
            seconds_left=left,
            images_per_second=event.images_per_second,
            learning_rate=trainer.learning_rate,
            weight_decay=trainer.weight_decay,
            precision=trainer.precision,
        )

    def _flush(self) -> None:
        append_lines(self.run.directory / "records.jsonl", self._lines)
        self._lines.clear()
        self._flushed = time.monotonic()

    def _save(self, trainer: Trainer) -> None:
        self._flush()
        started = time.monotonic()
        save_resume(self.run, *trainer.state())
        self._saved = time.monotonic()
        self._save_pause = max(RESUME_SAVE_S, (self._saved - started) / RESUME_SAVE_SHARE)

    def _say(self, state: str, message: str = "") -> None:
        self.status = replace(
            self.status, state=state, message=message, pid=os.getpid(), heartbeat=time.time()
        )
        write_status(self.run.directory / "status.json", asdict(self.status))
        self._said = time.monotonic()

    def _steer(self, trainer: Trainer) -> bool:
        """Follow the commands, wait while paused; whether the run should stop here."""
        self._obey(trainer)
        self._steps_wanted = max(0, self._steps_wanted - 1)
        if self._paused and not self._steps_wanted and not self._stopping:
            self._save(trainer)
            self._say("paused")
        while self._paused and not self._steps_wanted and not self._stopping:
            time.sleep(POLL_S)
            self._obey(trainer)
            if time.monotonic() - self._said >= 1.0:
                self._say("paused")
        return self._stopping

    def _obey(self, trainer: Trainer) -> None:
        commands, self._control_at = read_lines(self._control, self._control_at)
        for entry in commands:
            command = entry.get("command")
            if command == "pause":
                self._paused = True
            elif command == "resume":
                self._paused = trainer.record_all = False
            elif command == "step":
                self._paused = trainer.record_all = True
                self._steps_wanted += 1
            elif command == "stop":
                self._stopping, self._message = True, "stopped; resume goes on from here"
            elif command == "set":
                self._change(trainer, entry)
        if time.monotonic() - self._leased >= LEASE_CHECK_S:
            self._leased = time.monotonic()
            if self._abandoned():
                self._stopping, self._message = (
                    True,
                    "nobody watched, so it was stopped; resume goes on from here",
                )

    def _change(self, trainer: Trainer, entry: dict[str, Any]) -> None:
        changes: dict[str, Any] = {
            key: entry[key] for key in ("learning_rate", "weight_decay") if key in entry
        }
        try:
            trainer.change(**changes)
        except (ValueError, TypeError) as error:
            changes = {"refused": str(error)}
        self._lines.append(
            {"kind": "event", "step": trainer.step, "event": "changed", "time": time.time(), **changes}
        )
        self.status = replace(
            self.status, learning_rate=trainer.learning_rate, weight_decay=trainer.weight_decay
        )

    def _abandoned(self) -> bool:
        if self.config.lease_s is None:
            return False
        try:
            touched = (self.run.directory / "lease.json").stat().st_mtime
        except OSError:
            touched = self.config.created
        return time.time() - touched > self.config.lease_s


def default_device() -> str:
    """'cuda' where there is one, else 'cpu'."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def load_teacher(config: RunConfig, runs_folder: Path) -> nn.Module | None:
    """The distillation teacher that a run names, or None.

    Raises:
        CheckpointError: if its file cannot be used.
        RunError: if it lies elsewhere, or was made for other pictures.
    """
    if config.train.distill_from is None:
        return None
    path = (PROJECT / config.train.distill_from).resolve()  # an absolute path stays one
    if not any(path.is_relative_to(folder) for folder in (PROJECT / "checkpoints", runs_folder.resolve())):
        raise RunError("a teacher must be one of the project's checkpoints or of the runs' snapshots")
    loaded = open_model(path)
    if loaded.preparation != config.preparation:
        raise RunError("the teacher was made for another preparation of the pictures than the student")
    return loaded.model
