"""Train one model of a session and write its records, snapshots and status."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from vitviz.training.atomic_files import append_lines, write_status
from vitviz.training.loop import Trainer, make_update
from vitviz.training.records import Ended, Evaluation, Event, Snapshot, StepRecord
from vitviz.training.run_directory import Run, Status
from vitviz.training.shuffled_patches import ShuffleTest
from vitviz.training.snapshot_files import cut_after, save_snapshot

Listener = Callable[[Event, Trainer], None]


class ModelTrainer:
    """A trainer with the run directory that its events are written to.

    Args:
        run: the session's run, or a member of an experiment.
        shuffle: evaluated at every snapshot and at the end; None: never.
        listen: called with every event.
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
        self.ended: Ended | None = None  # done, or diverged with the reason

    def begin(self, resumed: bool) -> None:
        """Delete records after the trainer's step; a new run writes its initial snapshot."""
        cut_after(self.run, self.trainer.step if resumed else -1)
        if resumed:
            self.note("resumed")
        if self.trainer.step == 0:
            self._store_event(self.trainer.snapshot())

    def turn(self) -> list[Event]:
        """Make one update and store its events."""
        events = make_update(self.trainer)
        for event in events:
            self._store_event(event)
        return events

    def note(self, name: str, **values: Any) -> None:
        """Add an event record."""
        self._lines.append(
            {"kind": "event", "step": self.trainer.step, "event": name, "time": time.time(), **values}
        )

    def flush(self) -> None:
        """Write pending records."""
        append_lines(self.run.directory / "records.jsonl", self._lines)
        self._lines.clear()

    def write_member_status(self, experiment: Status) -> None:
        """Write this member's status with the state of its experiment."""
        self.status = self.status.in_state_of(experiment)
        write_status(self.run.directory / "status.json", asdict(self.status))

    def _store_event(self, event: Event) -> None:
        if isinstance(event, Ended):
            self.ended = event
            if event.reason == "diverged":
                self.note("diverged", message=event.message)
        elif isinstance(event, Snapshot):
            save_snapshot(self.run, self.config, self.trainer.splits.classes, event)
            self._lines.append(
                {"kind": "snapshot", "step": event.step, "epoch": event.epoch, "seconds": event.seconds}
            )
            if self._shuffle is not None:
                shuffled = self._shuffle.at_snapshot(self.trainer, event)
                self._lines.append({"kind": "shuffled", **asdict(shuffled)})
        elif isinstance(event, StepRecord):
            self._lines.append({"kind": "step", **asdict(event)})
            self._note_step(event)
        elif isinstance(event, Evaluation):
            self._lines.append({"kind": "evaluation", **asdict(event)})
            name = "test_accuracy" if event.split == "test" else "accuracy"
            self.status = replace(self.status, **{name: event.accuracy})  # type: ignore[arg-type]
            if self._shuffle is not None and event.split == "test":
                shuffled = self._shuffle.at_end(self.trainer, event)
                self._lines.append({"kind": "shuffled", **asdict(shuffled)})
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
