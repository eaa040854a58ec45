"""Train a lecture's recipe and replacements of others over seeds, and a small model with wrong position tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vitviz.experiments import lecture_results, position_errors
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.position_errors import EPOCHS, ERRORS, MODEL, PREPARATION, TRAIN
from vitviz.experiments.single_run import prepare_data, trained
from vitviz.models.zoo import create_model
from vitviz.training.presets import TRAINING_PRESETS

CURVE = "[updates, core-seconds, accuracy on the validation images]"


def lecture_experiment() -> Experiment:
    """Return the recipes behind the lecture's printed accuracies, over seeds."""
    cells: list[Cell] = [
        {"preset": name, "seed": seed} for seed in lecture_results.SEEDS for name in lecture_results.TRAINED
    ]
    settings = {"seeds": "of weights, order and dropout; the images are the same ones", "curve": CURVE}
    return Experiment(lecture_results.NAME, "The lecture's accuracies", cells, measure_preset, settings)


def measure_preset(cell: Cell, folder: Path) -> dict[str, Any]:
    """Train a preset on one thread."""
    preset = TRAINING_PRESETS[cell["preset"]]
    train = replace(preset.train, seed=cell["seed"], threads=1)
    splits = prepare_data(preset.preparation, train)
    return {"epochs": train.epochs, **trained(preset.model, train, splits).row}


def position_experiment() -> Experiment:
    """Return a small model with right and wrong position tables on MNIST."""
    cells: list[Cell] = [{"positions": error, "epochs": EPOCHS, "seed": 0} for error in ERRORS]
    settings = {"dataset": "mnist", "curve": CURVE}
    return Experiment(position_errors.NAME, "Wrong position tables", cells, measure_positions, settings)


def measure_positions(cell: Cell, folder: Path) -> dict[str, Any]:
    """Train the model with one table, which no update changes."""
    table = ERRORS[cell["positions"]].table
    train = replace(TRAIN, seed=cell["seed"], epochs=cell["epochs"])
    splits = prepare_data(PREPARATION, replace(TRAIN, batch_size=1))
    if table is None:
        return trained(replace(MODEL, positions="none"), train, splits).row
    config = replace(MODEL, positions="learned", position_on_prefix=False, sincos_on_prefix=False)
    start = create_model(config, train.seed).state_dict()
    start["pos_embed"] = torch.from_numpy(table(*config.grid, config.embed_dim))[None].float()
    train = replace(train, frozen=("pos_embed",), start_from=cell["positions"], start_digest="table")
    return trained(config, train, splits, start=start).row
