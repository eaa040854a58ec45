"""Measure attention whose queries, keys and values are convolutions (recipe G of the lecture)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from vitviz.config import TrainConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments.conv_nets import MODELS, NAME, PREPARATION, SEEDS, SIDE_PX, TRAIN
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.single_run import trained
from vitviz.models import parameter_count
from vitviz.training.batches import TrainingData, prepare_training_data


def experiment() -> Experiment:
    """Seven small nets on one epoch of half of MNIST at 14 px, three seeds of weights and order."""
    cells: list[Cell] = [{"model": model, "seed": seed} for seed in SEEDS for model in MODELS]
    settings = {
        "dataset": TRAIN.dataset,
        "side_px": SIDE_PX,
        "train_fraction": TRAIN.train_fraction,
        "epochs": TRAIN.epochs,
        "batch_size": TRAIN.batch_size,
        "learning_rate": TRAIN.learning_rate,
        "parameters": {
            name: sum(parameter_count.parameters(model).values()) for name, model in MODELS.items()
        },
        "multiply_adds": {
            name: sum(parameter_count.multiply_adds(model, SIDE_PX).values())
            for name, model in MODELS.items()
        },
        "seeds": "of weights and order; the pictures are the same ones",
        "curve": "[updates, core-seconds, accuracy on the validation pictures]",
    }
    title = "Attention over convolutions"
    return Experiment(NAME, title, cells, Measure(TRAIN), settings)


@dataclass(frozen=True)
class Measure:
    """Trains one of `MODELS`; the recipe is the experiment's, or a test's on a smaller set."""

    train: TrainConfig

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        train = replace(self.train, seed=cell["seed"])
        return trained(MODELS[cell["model"]], train, _prepared(self.train)).row


@lru_cache(maxsize=1)
def _prepared(train: TrainConfig) -> TrainingData:
    """Return the same images for every cell: making them smaller takes longer than most trainings."""
    return prepare_training_data(load_dataset(train.dataset), PREPARATION, train)
