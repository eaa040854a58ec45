"""Store the curves printed in the lectures, and name the recipes trained for comparison."""

from dataclasses import dataclass, fields, replace
from functools import partial

from vitviz.experiments.experiment import Cell, Experiment, TrainingSetup, train_cell
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import RunConfig

# Fields in which a run may differ from its recipe.
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
    """One curve printed in a lecture, with one value per epoch.

    Attributes:
        name: label of the curve.
        metric: 'loss' or 'accuracy', on training images with dropout.
        values: accuracies lie in [0, 1].
    """

    name: str
    metric: str
    values: tuple[float, ...]


_D = (
    *(47.76, 66.95, 72.08, 76.17, 78.80, 80.94, 82.42, 83.42, 84.38, 84.96),
    *(85.64, 86.06, 86.56, 86.98, 87.44, 87.44, 87.73, 88.05, 88.27, 88.35),
)
PRINTED = {  # by preset
    "recipe_a": PrintedLine("lecture A", "loss", (2.0053, 1.8314, 1.7352, 1.6735, 1.6252, 1.5944, 1.5660)),
    "recipe_d": PrintedLine("lecture D", "accuracy", tuple(round(value / 100, 4) for value in _D)),
}

NAME = "lecture_results"
SEEDS = (0, 1, 2)
TRAINED = ("mnist_90", "mnist_fast", "cifar10_fast", "recipe_e")  # replacements, and the recipe of a minute


def experiment() -> Experiment:
    """Return the recipes behind the lecture's printed accuracies, over seeds."""
    cells: list[Cell] = [{"preset": name, "seed": seed} for seed in SEEDS for name in TRAINED]
    return Experiment(NAME, "The lecture's accuracies", cells, partial(train_cell, configure))


def configure(cell: Cell) -> TrainingSetup:
    """Return what a cell trains, on one thread."""
    preset = TRAINING_PRESETS[cell["preset"]]
    return TrainingSetup(preset.model, replace(preset.train, threads=1), preset.preparation)


def find_printed_line(config: RunConfig) -> PrintedLine | None:
    """Return the curve printed for a run's recipe; None if there is none or the recipe was changed."""
    line, recipe = PRINTED.get(config.preset or ""), TRAINING_PRESETS.get(config.preset or "")
    if line is None or recipe is None:
        return None
    names = [field.name for field in fields(recipe.train) if field.name not in FREE]
    as_written = all(getattr(config.train, name) == getattr(recipe.train, name) for name in names)
    same = (config.model, config.preparation) == (recipe.model, recipe.preparation)
    return line if as_written and same else None
