"""Train networks on faces against backgrounds, and evaluate them on rearranged faces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from vitviz.config import TrainConfig
from vitviz.data.dataset import Dataset
from vitviz.data.faces import ARRANGEMENTS, CLASSES, arranged, faces_dataset
from vitviz.data.preparation import prepare_batch
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.faces import BACKGROUND, MODELS, NAME, PREPARATION, SEEDS, TRAIN
from vitviz.experiments.single_run import trained
from vitviz.models import parameter_count
from vitviz.models.zoo import create_model
from vitviz.training.batches import prepare_training_data


def experiment(train: TrainConfig = TRAIN) -> Experiment:
    """Return three small nets, five seeds of weights and order; none of them ever sees a face put together wrong."""
    cells: list[Cell] = [{"model": model, "seed": seed} for seed in SEEDS for model in MODELS]
    settings = {
        "epochs": train.epochs,
        "batch_size": train.batch_size,
        "learning_rate": train.learning_rate,
        "parameters": {
            name: sum(parameter_count.parameters(model).values()) for name, model in MODELS.items()
        },
        "seeds": "of weights, order and augmentation; the pictures are the same ones",
        "faces": "how many of the test pictures are called a face",
    }
    return Experiment(NAME, "Is a face whose parts lie wrong still a face?", cells, Measure(train), settings)


@dataclass(frozen=True)
class Measure:
    """Trains one of `MODELS`; the recipe is the experiment's, or a test's shorter one."""

    train: TrainConfig

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        """'test': of whole faces and backgrounds; 'faces': how many are called a face, by arrangement; 'of'."""
        torch.set_num_threads(1)
        config, data = MODELS[cell["model"]], faces_dataset()
        train = replace(self.train, seed=cell["seed"])
        found = trained(config, train, prepare_training_data(data, PREPARATION, train))
        model = create_model(config)
        model.load_state_dict(found.weights)
        return {**found.row, **called_faces(model.eval(), data)}


def called_faces(model: nn.Module, data: Dataset) -> dict[str, Any]:
    """'faces': of the test faces in every arrangement, and of the backgrounds, how many are called a face; 'of': of
    how many.
    """
    labels = data.labels_of("test")
    faces, backgrounds = (data.test_images[labels == CLASSES.index(name)] for name in ("face", BACKGROUND))
    asked = {name: arranged(faces, name) for name in ARRANGEMENTS} | {BACKGROUND: backgrounds}
    return {"faces": {name: _count(model, pictures) for name, pictures in asked.items()}, "of": len(faces)}


@torch.inference_mode()
def _count(model: nn.Module, pictures: np.ndarray) -> int:
    logits = model(torch.from_numpy(prepare_batch(pictures, PREPARATION)))
    return int((logits.argmax(dim=1) == CLASSES.index("face")).sum())
