"""When a run keeps its weights, and when it ends before its time."""

from __future__ import annotations

import numpy as np

from vitviz.config import TrainConfig
from vitviz.text import percent, plural
from vitviz.training.records import Evaluation

FIRST_SNAPSHOT_SHARE = 1 / 500  # of a run bounded by seconds, whose number of steps nobody knows


def snapshot_marks(count: int, total_steps: int | None) -> list[float]:
    """Return the moments of the run in (0, 1], dense at first: at most `count` with the one before the first step."""
    if total_steps is None:
        return [float(mark) for mark in np.geomspace(FIRST_SNAPSHOT_SHARE, 1.0, max(count - 1, 1))]
    steps = np.unique(np.geomspace(1, total_steps, max(count - 1, 1)).round().astype(int))
    return [int(step) / total_steps for step in steps]


class StoppingRule:
    """Looks at every validation of a run, and says when its config has it end: an accuracy, or patience at its end.

    Args:
        config: its `stop_accuracy` and `patience`.
    """

    def __init__(self, config: TrainConfig) -> None:
        self._aim, self._patience = config.stop_accuracy, config.patience
        self.best: tuple[float, float] = (-1.0, 0.0)  # accuracy, and the epoch in which it was first reached

    def why(self, found: Evaluation) -> str:
        """Why the run ends with this validation, as a sentence; empty where it goes on."""
        accuracy, at = found.accuracy, found.epoch
        if accuracy > self.best[0]:
            self.best = (accuracy, at)
        if self._aim is not None and accuracy >= self._aim:
            return (
                f"it stopped at its aim: {percent(accuracy)} of {plural(found.images, 'validation image')} are"
                f" right, and {percent(self._aim)} was asked for"
            )
        if self._patience is not None and at - self.best[1] >= self._patience:
            return (
                f"it stopped for want of progress: {self._patience:g} {'epoch' if self._patience == 1 else 'epochs'}"
                f" brought nothing better than {percent(self.best[0])} of the validation images, in epoch"
                f" {self.best[1]:.1f}"
            )
        return ""
