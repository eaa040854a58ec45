"""Read the stored accuracies of models on changed test images."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.image_changes import CHANGES
from vitviz.experiments.result_file import Result

NAME = "robustness"  # of the experiment
NONE = "none"  # the row of the unchanged images


@dataclass(frozen=True)
class Losses:
    """Test accuracies at each strength of a change.

    Attributes:
        strengths: in order, among them the neutral one.
        accuracy: by model, in [0, 1], one per strength.
        neutral: index of the unchanged image.
    """

    strengths: tuple[float, ...]
    accuracy: Mapping[str, list[float]]
    neutral: int

    @property
    def lost(self) -> dict[str, float]:
        """The accuracy that each model loses at the strongest change."""
        return {name: shares[self.neutral] - shares[-1] for name, shares in self.accuracy.items()}


def collect_losses(stored: Result, change: str, titles: Mapping[str, str]) -> Losses:
    """Return the stored accuracies of the models that were measured at every strength, by their titles."""
    neutral = CHANGES[change].neutral
    measured: dict[str, dict[float, float]] = {title: {} for title in titles.values()}
    for row in (*stored.where(change=NONE), *stored.where(change=change)):
        strength = neutral if row["change"] == NONE else float(row["value"])
        measured[titles[row["model"]]][strength] = float(row["right"])
    strengths = tuple(sorted({strength for shares in measured.values() for strength in shares}))
    accuracy = {
        title: [shares[strength] for strength in strengths]
        for title, shares in measured.items()
        if len(shares) == len(strengths)
    }
    return Losses(strengths, accuracy, strengths.index(neutral))


def describe_error(shares: NDArray[np.floating], images: int) -> str:
    """Return a sentence with the sampling error of shares counted over this many images."""
    error = 2 * float(np.sqrt(shares * (1 - shares) / images).max())
    return f"Two standard errors are at most {100 * error:.1f} points; one run per model."
