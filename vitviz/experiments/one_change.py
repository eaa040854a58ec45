"""The trainings behind 'One hyperparameter' and 'One bug': one base, one change, several seeds."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vitviz.config import ModelConfig, TrainConfig
from vitviz.experiments.bugs import BUGS, FIXED, configure_fixed, configure_with_bug
from vitviz.experiments.bugs import SEEDS as SLIP_SEEDS
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS, SEEDS
from vitviz.experiments.single_run import prepare_data, trained
from vitviz.models import parameter_count

BASE = "base"  # the cell in which no hyperparameter is turned
CURVE = "[updates, core-seconds, accuracy on the validation pictures]"


def one_knob(dataset: str) -> Experiment:
    """Return the base and every stored hyperparameter at each other value; the most telling first."""
    base = BASES[dataset]
    turns: list[Cell] = [{"knob": BASE, "value": None}]
    turns += [
        {"knob": knob.name, "value": candidate}
        for knob in HYPERPARAMETERS.values()
        if knob.stored
        for candidate in knob.offered(base)
        if candidate != knob.base(base)
    ]
    cells = [{**turn, "seed": seed} for turn in turns for seed in SEEDS]

    def built(cell: Cell) -> tuple[ModelConfig, TrainConfig]:
        if cell["knob"] == BASE:
            return base.model, base.train
        return HYPERPARAMETERS[cell["knob"]].with_value(base, cell["value"])

    return _experiment(f"one_knob_{dataset}", "One hyperparameter at a time", dataset, cells, built)


def one_slip(dataset: str) -> Experiment:
    """Return every bug, and the mended model of its family."""
    kinds = [(family, FIXED) for family in ("vit", "swin")]
    kinds += [(slip.family, name) for name, slip in BUGS.items()]
    cells: list[Cell] = [
        {"slip": name, "family": family, "seed": seed}
        for family, name in sorted(kinds, key=lambda kind: kind[0], reverse=True)
        for seed in SLIP_SEEDS[dataset]
    ]

    def built(cell: Cell) -> tuple[ModelConfig, TrainConfig]:
        return (
            configure_fixed(dataset, cell["family"])
            if cell["slip"] == FIXED
            else configure_with_bug(dataset, cell["slip"])
        )

    return _experiment(f"one_slip_{dataset}", "One bug at a time", dataset, cells, built)


def _experiment(
    name: str,
    title: str,
    dataset: str,
    cells: list[Cell],
    built: Callable[[Cell], tuple[ModelConfig, TrainConfig]],
) -> Experiment:
    train = BASES[dataset].train
    settings = {
        "dataset": dataset,
        "epochs": train.epochs,
        "batch_size": train.batch_size,
        "learning_rate": train.learning_rate,
        "seeds": "of weights, order and dropout; the pictures are the same ones",
        "curve": CURVE,
    }
    return Experiment(name, title, cells, partial(measure, dataset, built), settings)


def measure(
    dataset: str,
    built: Callable[[Cell], tuple[ModelConfig, TrainConfig]],
    cell: Cell,
    folder: Path,
    epochs: float | None = None,
) -> dict[str, Any]:
    """Train one cell.

    Args:
        built: (a cell) -> its model and recipe, but for the seed.
        epochs: None: the recipe's; a test's are fewer.
    """
    model, train = built(cell)
    train = replace(train, seed=cell["seed"], epochs=epochs or train.epochs)
    splits = prepare_data(BASES[dataset].preparation, replace(train, batch_size=1, seed=0))
    return {"parameters": sum(parameter_count.parameters(model).values())} | trained(model, train, splits).row
