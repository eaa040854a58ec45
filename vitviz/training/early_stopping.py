"""End a training early, at a target accuracy or once it no longer improves."""

from vitviz.config import TrainConfig
from vitviz.text import percent, plural
from vitviz.training.records import Evaluation


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
