"""Accuracies and losses that the lectures printed, drawn as ghost lines behind a run of the same recipe."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import RunConfig

# What a run may have otherwise than its recipe: how long it lasts, where it runs and what is kept of it.
FREE = (
    "epochs",
    "seconds",
    "stop_accuracy",
    "patience",
    "seed",
    "threads",
    "clock",
    "precision",
    "snapshots",
)


@dataclass(frozen=True)
class PrintedLine:
    """One line that a lecture printed, one value an epoch from the first on.

    Attributes:
        name: as it is called beside the line.
        metric: 'loss' or 'accuracy', both of the training images with dropout on.
        values: in [0, 1] where it is an accuracy.
    """

    name: str
    metric: str
    values: tuple[float, ...]


_D = (
    *(47.76, 66.95, 72.08, 76.17, 78.80, 80.94, 82.42, 83.42, 84.38, 84.96),
    *(85.64, 86.06, 86.56, 86.98, 87.44, 87.44, 87.73, 88.05, 88.27, 88.35),
)
PRINTED = {  # by the recipe's preset
    "recipe_a": PrintedLine("lecture A", "loss", (2.0053, 1.8314, 1.7352, 1.6735, 1.6252, 1.5944, 1.5660)),
    "recipe_d": PrintedLine("lecture D", "accuracy", tuple(round(value / 100, 4) for value in _D)),
}


def find_printed_line(config: RunConfig) -> PrintedLine | None:
    """Return the values that a lecture printed for a run's recipe; None for another or a changed recipe."""
    found, recipe = PRINTED.get(config.preset or ""), TRAINING_PRESETS.get(config.preset or "")
    if found is None or recipe is None:
        return None
    names = [field.name for field in fields(recipe.train) if field.name not in FREE]
    as_written = all(getattr(config.train, name) == getattr(recipe.train, name) for name in names)
    same = (config.model, config.preparation) == (recipe.model, recipe.preparation)
    return found if as_written and same else None
