"""Measure what residual connections and norms do: the gradient's norm by block, at the start and through training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.config import TrainConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments.deep_models import (
    DATASET,
    MARKS,
    NAME,
    PICTURES,
    PREPARATION,
    SEEDS,
    TRAIN,
    VARIANTS,
    deep,
)
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.models.abilities import as_vit
from vitviz.models.vit import VisionTransformer
from vitviz.probe.gradients import measure_gradient_norms
from vitviz.training.batches import TrainingData, make_normaliser, prepare_training_data
from vitviz.training.loop import Diverged, Trainer


def experiment() -> Experiment:
    """Deep ViTs, LayerNorm before or after, with and without residual connections, three seeds."""
    cells: list[Cell] = [{"variant": name, "seed": seed} for seed in SEEDS for name in VARIANTS]
    settings = {
        "dataset": DATASET,
        "depth": deep("pre").depth,
        "pictures": PICTURES,
        "updates": MARKS[-1],
        "batch_size": TRAIN.batch_size,
        "learning_rate": TRAIN.learning_rate,
        "marks": list(MARKS),
        "norms": "[mark][block]: L2 norm of the loss's gradient by the block's parameters, on the same pictures",
    }
    return Experiment(NAME, "The gradient's norm by block", cells, Measure(TRAIN, MARKS), settings)


@dataclass(frozen=True)
class Measure:
    """Trains one variant and records its gradient at some steps."""

    train: TrainConfig
    marks: tuple[int, ...]

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        data = _prepared(self.train)
        train = replace(
            self.train, seed=cell["seed"], epochs=self.marks[-1] * self.train.batch_size / len(data.train)
        )
        trainer = Trainer(deep(cell["variant"]), train, data)
        norms: list[list[float]] = []
        losses: list[float] = []
        try:
            for mark in self.marks:
                while trainer.step < mark:
                    trainer.advance()
                norms.append([float(f"{value:.4g}") for value in _norms(trainer, data)])
                losses.append(round(trainer.evaluate("validation").loss, 4))
        except Diverged as error:
            return {"diverged": str(error), "norms": norms, "losses": losses}
        test = trainer.evaluate("test", exact=True).accuracy
        return {"norms": norms, "losses": losses, "test": round(test, 4)}


def _norms(trainer: Trainer, data: TrainingData) -> NDArray[np.float64]:
    """In fp32, on the first training images."""
    model = VisionTransformer(as_vit(trainer.model_config))
    model.load_state_dict(trainer.weights.state())
    normalise, _ = make_normaliser(data.preparation, torch.float32, torch.device("cpu"))
    return measure_gradient_norms(
        model, normalise(data.train.images[:PICTURES]), data.train.labels[:PICTURES]
    )


@lru_cache(maxsize=1)
def _prepared(train: TrainConfig) -> TrainingData:
    return prepare_training_data(load_dataset(DATASET), PREPARATION, train)
