"""One model of a session: its trainer, and the run directory that its records and snapshots go to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from vitviz.training.files import append_lines, write_status
from vitviz.training.loop import Trainer, turn
from vitviz.training.records import Ended, Evaluation, Event, Snapshot, StepRecord
from vitviz.training.run_directory import Run, Status
from vitviz.training.shuffling import ShuffleTest
from vitviz.training.snapshot_files import cut_after, save_snapshot

Listener = Callable[[Event, Trainer], None]


class ModelTrainer:
    """Keeps what a trainer says.

    Args:
        run: where it is written: the session's own run, or a member of an experiment.
        trainer: makes the updates.
        shuffle: asked at every snapshot and at the end; None where patches are not shuffled.
        listen: told every event, beside the files.
    """

    def __init__(
        self,
        run: Run,
        trainer: Trainer,
        shuffle: ShuffleTest | None = None,
        listen: Listener | None = None,
    ) -> None:
        self.run, self.trainer = run, trainer
        self.config = run.config()
        self.status: Status = run.status()
        self._shuffle, self._listen = shuffle, listen
        self._lines: list[dict[str, Any]] = []
        self.ended: Ended | None = None  # done, or diverged with the reason: it takes no more turns

    def begin(self, resumed: bool) -> None:
        """Forget what lies after the trainer's step; keep the weights of one that has made none."""
        cut_after(self.run, self.trainer.step if resumed else -1)
        if resumed:
            self.note("resumed")
        if self.trainer.step == 0:
            self._keep(self.trainer.snapshot())

    def turn(self) -> list[Event]:
        """Make one update and keep all that follows from it."""
        events = turn(self.trainer)
        for event in events:
            self._keep(event)
        return events

    def note(self, what: str, **values: Any) -> None:
        """Record something that happened to the run."""
        self._lines.append(
            {"kind": "event", "step": self.trainer.step, "event": what, "time": time.time(), **values}
        )

    def flush(self) -> None:
        """Write the records that wait."""
        append_lines(self.run.directory / "records.jsonl", self._lines)
        self._lines.clear()

    def say(self, whole: Status) -> None:
        """Write this member's status; how it stands is how its experiment stands."""
        self.status = replace(
            self.status, state=whole.state, message=whole.message, pid=whole.pid, heartbeat=whole.heartbeat
        )
        write_status(self.run.directory / "status.json", asdict(self.status))

    def _keep(self, event: Event) -> None:
        if isinstance(event, Ended):
            self.ended = event
            if event.reason == "diverged":
                self.note("diverged", message=event.message)
        elif isinstance(event, Snapshot):
            save_snapshot(self.run, self.config, self.trainer.data.classes, event)
            self._lines.append(
                {"kind": "snapshot", "step": event.step, "epoch": event.epoch, "seconds": event.seconds}
            )
            if self._shuffle is not None:
                found = self._shuffle.at_snapshot(self.trainer, event)
                self._lines.append({"kind": "shuffled", **asdict(found)})
        elif isinstance(event, StepRecord):
            self._lines.append({"kind": "step", **asdict(event)})
            self._note_step(event)
        elif isinstance(event, Evaluation):
            self._lines.append({"kind": "evaluation", **asdict(event)})
            name = "test_accuracy" if event.split == "test" else "accuracy"
            self.status = replace(self.status, **{name: event.accuracy})  # type: ignore[arg-type]
            if self._shuffle is not None and event.split == "test":
                found = self._shuffle.at_end(self.trainer, event)
                self._lines.append({"kind": "shuffled", **asdict(found)})
        if self._listen is not None:
            self._listen(event, self.trainer)

    def _note_step(self, event: StepRecord) -> None:
        trainer = self.trainer
        progress = trainer.progress
        self.status = replace(
            self.status,
            step=event.step,
            total_steps=trainer.total_steps,
            progress=progress,
            epoch=event.epoch,
            seconds=event.seconds,
            seconds_left=event.seconds * (1 - progress) / progress if progress > 0 else None,
            images_per_second=event.images_per_second,
            learning_rate=trainer.learning_rate,
            weight_decay=trainer.weight_decay,
            precision=trainer.precision,
        )
