"""A shipped training, looked at like a run of one's own: its checkpoint holds what it recorded, and its snapshots.

Nothing is queued or trained by it: there is no run directory, and no trainer knows of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pages.selection import selection, substitute
from pages.stores import catalogue, runs
from pages.stores.model_choice import ModelChoice
from pages.stores.records import Records

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

KEY = "checkpoint:"  # begins the id of a recording, and of no run
FEWEST = 3  # snapshots that make a film


@dataclass(frozen=True)
class Recording:
    """A training that a shipped checkpoint recorded; it answers what the lab's pictures ask of a run."""

    choice: ModelChoice
    path: Path

    @property
    def id(self) -> str:
        """The model's key."""
        return self.choice.key

    def config(self) -> RunConfig:
        """What was trained, on what and how.

        Raises:
            ValueError: if the file does not say it, or it is more than the lab's limits allow.
        """
        from vitviz.training.run_config import RunConfig

        header = catalogue.header(self.path)
        if header.train is None:
            raise ValueError(f"{self.path.name} does not say how it was trained")
        return RunConfig(header.config, header.preparation, header.train, name=self.choice.title)

    def snapshot_times(self) -> dict[int, int]:
        """Its steps, ascending, each with the time when the file was written, in nanoseconds."""
        return dict.fromkeys(self.choice.steps, self.path.stat().st_mtime_ns)

    def records(self) -> Records:
        """What it recorded."""
        return _records(self.path, self.path.stat().st_mtime_ns, self.choice.steps)

    @property
    def image(self) -> str:
        """The picture that its snapshots read: the chosen one where it is like those that it learned from."""
        return substitute.picture(self.choice)[0]


@lru_cache(maxsize=16)
def _records(path: Path, modified_ns: int, steps: tuple[int, ...]) -> Records:
    header = catalogue.header(path)
    found = Records(header.history)
    if found.test is None and isinstance(header.card.get("test_accuracy"), float):
        found.test = {"accuracy": header.card["test_accuracy"]}
    table = found.training()
    if table.shape[
        1
    ]:  # a checkpoint says of a snapshot its step alone; when that was lies between two records
        epochs, seconds = (np.interp(steps, (0.0, *table[0]), (0.0, *table[row])) for row in (1, 2))
        found.snapshots = {
            step: (float(e), float(s)) for step, e, s in zip(steps, epochs, seconds, strict=True)
        }
    return found


def to_show() -> Recording | None:
    """The training of the chosen model where it is a shipped one, else of the one that the app opens with."""
    for key in (selection.current().model, catalogue.default_model()):
        found = find(key)
        if found is not None:
            return found
    return None


def find(key: str) -> Recording | None:
    """The recording of a shipped model, by its key; None where its file tells no training."""
    choice = next((c for c in catalogue.shipped() if c.key == key), None)
    if choice is None or choice.path is None or len(choice.steps) < FEWEST or not choice.curve:
        return None
    found = Recording(choice, choice.path)
    try:
        found.config()
    except (ValueError, OSError):
        return None
    return found


def filmed(run_id: str) -> Run | Recording | None:
    """The run or the recording of this id."""
    return find(run_id) if run_id.startswith(KEY) else runs.find(run_id)


def records(run_id: str) -> Records:
    """What a run or a recording has recorded so far.

    Raises:
        KeyError: if the recording is gone.
        vitviz.training.run_directory.RunError: if the run is gone.
    """
    if not run_id.startswith(KEY):
        return runs.log(run_id).read()
    return _found(run_id).records()


def snapshot_path(run_id: str, step: int) -> Path:
    """The checkpoint file that holds a run's or a recording's step.

    Raises:
        KeyError: if the recording is gone.
        vitviz.training.run_directory.RunError: if the run or the step is gone.
    """
    return _found(run_id).path if run_id.startswith(KEY) else runs.snapshot_path(run_id, step)


def model_key(run_id: str) -> str:
    """The key of the model that a run or a recording makes."""
    return run_id if run_id.startswith(KEY) else f"run:{run_id}"


def _found(key: str) -> Recording:
    found = find(key)
    if found is None:
        raise KeyError(key)
    return found
