"""Describe the moments of a training, between which the browser interpolates."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingMoments:
    """The steps at which values are stored; counterpart of vitviz/browser/kit/training_moments.js.

    Attributes:
        steps, epochs: of every moment, the latter empty if unknown.
        joined: the first so many moments belong to one run: values between two of them are interpolated.
        note: of these moments, such as 'a second training of the same recipe'; '' for the model's own run.
    """

    steps: Sequence[int]
    epochs: Sequence[float] = ()
    joined: int = 0
    note: str = ""

    def name(self, place: int) -> str:
        """Return a stored moment in words: 'step 40 · epoch 0.3'."""
        words = f"step {self.steps[place]:,}"
        if self.epochs:
            words += f" · epoch {float(f'{self.epochs[place]:.3g}'):g}"
        return f"{words} · {self.note}" if self.note and place < self.joined else words

    def insert(self, step: int, epoch: float, same_run: bool) -> "tuple[TrainingMoments, int]":
        """Return the moments with another one in its place, and that place: after the last one if of another run."""
        place = sum(before < step for before in self.steps) if same_run else len(self.steps)
        steps, epochs = [*self.steps], [*self.epochs]
        steps.insert(place, step)
        if epochs:
            epochs.insert(place, epoch)
        return TrainingMoments(steps, epochs, self.joined + same_run, self.note), place

    def without_first(self) -> "TrainingMoments":
        """Return the moments after the first one."""
        return TrainingMoments(self.steps[1:], self.epochs[1:], max(0, self.joined - 1), self.note)
