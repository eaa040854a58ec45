"""Choose the moments of snapshots, and stop a training early."""

from __future__ import annotations

import numpy as np

from vitviz.config import TrainConfig
from vitviz.text import percent, plural
from vitviz.training.records import Evaluation

FIRST_SNAPSHOT_SHARE = 1 / 500  # of a run bounded by seconds, whose number of steps is unknown


def snapshot_marks(count: int, total_steps: int | None) -> list[float]:
    """Return at most `count` - 1 moments in (0, 1], dense at first; the initial snapshot is extra."""
    if total_steps is None:
        return [float(mark) for mark in np.geomspace(FIRST_SNAPSHOT_SHARE, 1.0, max(count - 1, 1))]
    steps = np.unique(np.geomspace(1, total_steps, max(count - 1, 1)).round().astype(int))
    return [int(step) / total_steps for step in steps]


class StoppingRule:
    """Early stopping by a target accuracy or by patience.

    Args:
        config: its `stop_accuracy` and `patience` are used.
    """

    def __init__(self, config: TrainConfig) -> None:
        self._target, self._patience = config.stop_accuracy, config.patience
        self.best: tuple[float, float] = (-1.0, 0.0)  # accuracy, and the epoch in which it was first reached

    def check(self, evaluation: Evaluation) -> str:
        """Return why the run ends after this validation; empty if it continues."""
        accuracy, epoch = evaluation.accuracy, evaluation.epoch
        if accuracy > self.best[0]:
            self.best = (accuracy, epoch)
        if self._target is not None and accuracy >= self._target:
            images = plural(evaluation.images, "validation image")
            return f"Stopped at the target accuracy: {percent(accuracy)} on {images} (target {percent(self._target)})"
        if self._patience is not None and epoch - self.best[1] >= self._patience:
            return (
                f"Stopped without improvement for {self._patience:g} {'epoch' if self._patience == 1 else 'epochs'}:"
                f" best validation accuracy {percent(self.best[0])} in epoch {self.best[1]:.1f}"
            )
        return ""
