"""Train the recipes of the lectures over seeds, and small models with wrong position tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vitviz.experiments import lecture_results, position_errors
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.position_errors import ERRORS, MODELS, PREPARATION
from vitviz.experiments.single_run import prepare_data, trained
from vitviz.models.zoo import create_model
from vitviz.training.presets import TRAINING_PRESETS

CURVE = "[updates, core-seconds, accuracy on the validation images]"
# Most wanted first: what trains in seconds before what takes minutes.
_LONG = (
    "recipe_d",
    "recipe_b",
    "recipe_a",
    "recipe_f_poor",
    "recipe_f_good",
    "recipe_d_corrected",
    "recipe_a_corrected",
)
_QUICK = tuple(
    name
    for printed in lecture_results.ACCURACIES
    for name in (printed.written, *printed.improved)
    if name not in _LONG
)
_POSITIONS = (
    *(("small", error, 2.0, 0) for error in ERRORS),
    *(("recipe_c", error, 10.0, seed) for seed in (0, 1, 2) for error in ("none", "sincos_1d")),
)


def lecture_experiment() -> Experiment:
    """Return the recipes behind the lecture's printed accuracies, over seeds."""
    cells: list[Cell] = [
        {"preset": name, "seed": seed}
        for names in (dict.fromkeys(_QUICK), _LONG)
        for seed in lecture_results.SEEDS
        for name in names
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
    """Return two small models with right and wrong position tables on MNIST."""
    cells: list[Cell] = [
        {"model": model, "positions": error, "epochs": epochs, "seed": seed}
        for model, error, epochs, seed in _POSITIONS
    ]
    settings = {
        "dataset": "mnist",
        "seeds": "of weights and order; the images are the same ones",
        "curve": CURVE,
    }
    return Experiment(position_errors.NAME, "Wrong position tables", cells, measure_positions, settings)


def measure_positions(cell: Cell, folder: Path) -> dict[str, Any]:
    """Train a model with one table, which no update changes."""
    shape, table = MODELS[cell["model"]], ERRORS[cell["positions"]].table
    train = replace(shape.train, seed=cell["seed"], epochs=cell["epochs"])
    splits = prepare_data(PREPARATION, replace(MODELS["small"].train, batch_size=1))
    if table is None:
        return trained(replace(shape.config, positions="none"), train, splits).row
    config = replace(shape.config, positions="learned", position_on_prefix=False, sincos_on_prefix=False)
    start = create_model(config, train.seed).state_dict()
    start["pos_embed"] = torch.from_numpy(table(*config.grid, config.embed_dim))[None].float()
    train = replace(train, frozen=("pos_embed",), start_from=cell["positions"], start_digest="table")
    return trained(config, train, splits, start=start).row
