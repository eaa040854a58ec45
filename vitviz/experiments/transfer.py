"""What a trained body is worth as pictures grow: fine-tuned, as features, and the same model from scratch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.analysis.probes import linear_accuracy
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import Checkpoint, load_checkpoint
from vitviz.data.dataset import Dataset
from vitviz.data.datasets import load_dataset, validation_split
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.one_training import trained
from vitviz.experiments.transfer_plan import (
    DATASET,
    FROZEN,
    LONGER,
    METHOD,
    METHODS,
    NAME,
    SCRATCH_RATES,
    SEEDS,
    SIZES,
    SOURCES,
    TIMES,
    VALIDATION,
)
from vitviz.models.transfer import fitted, fitted_preparation, transferred
from vitviz.models.zoo import create_model
from vitviz.probe.features import features
from vitviz.training.fine_tuning import SCRATCH, TUNED, Method, Source, Task, recipes
from vitviz.training.pictures import (
    Pictures,
    TrainingData,
    normaliser,
    prepared_pictures,
    test_pictures,
)

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"


def experiment(checkpoints: Path = CHECKPOINTS) -> Experiment:
    """Two bodies, four ways, six numbers of pictures a class, three draws of pictures, head and order."""
    cells: list[Cell] = [
        {"source": source, "method": method, "a_class": a_class, "seed": seed}
        for source in SOURCES
        for seed in SEEDS
        for a_class in SIZES
        for method in METHODS
    ]
    settings = {
        **shared_settings(checkpoints),
        "learning_rate": METHOD.learning_rate,
        "head_learning_rate": METHOD.head_learning_rate,
        "frozen": "logistic regression on the features that the head would read",
    }
    return Experiment(NAME, "What a trained body is worth", cells, Measure(checkpoints), settings)


def shared_settings(checkpoints: Path) -> dict[str, Any]:
    """What all trainings of the shipped bodies on a few digits have in common."""
    return {
        "dataset": DATASET,
        "updates": METHOD.updates,
        "batch_size": METHOD.batch_size,
        "scratch_learning_rate": SCRATCH_RATES,
        "seeds": "of the pictures that are drawn, of the new head or all weights, and of the order",
        "digests": {source: read_header(checkpoints / f"{source}.safetensors").digest for source in SOURCES},
        "test_pictures": len(load_dataset(DATASET).test_images),
    }


@dataclass(frozen=True)
class Measure:
    """Trains one cell; the shipped bodies are read from `checkpoints`."""

    checkpoints: Path

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        body = load_checkpoint(self.checkpoints / f"{cell['source']}.safetensors")
        data = few(load_dataset(DATASET), body, cell["a_class"], cell["seed"])
        if cell["method"] == FROZEN:
            return {"test": round(read_features(body, data), 4)}
        name = TUNED if cell["method"] == TUNED else SCRATCH
        return measured(body, data, name, cell["seed"], _method(cell))


def _method(cell: Cell) -> Method:
    times = TIMES if cell["method"] == LONGER else 1
    return replace(
        METHOD, scratch_learning_rate=SCRATCH_RATES[cell["source"]], updates=times * METHOD.updates
    )


def few(
    dataset: Dataset, body: Checkpoint, a_class: int, seed: int, image_size: int | None = None
) -> TrainingData:
    """So many pictures of each class, drawn with the seed; validation and test pictures are the same for all.

    Args:
        image_size: the pictures' side in px; None: as the body has read them.
    """
    kept, held_out = validation_split(dataset, VALIDATION, 0)
    labels = dataset.labels_of("train")
    preparation = fitted_preparation(body.preparation, image_size or body.config.image_size, drawn=True)

    def part(places: NDArray[np.int64]) -> Pictures:
        return prepared_pictures(dataset.train_images, labels, places, preparation)

    chosen = drawn(labels[kept], a_class, seed)
    return TrainingData(
        part(kept[chosen]),
        part(held_out),
        test_pictures(dataset, preparation),
        preparation,
        tuple(dataset.classes),
    )


def drawn(labels: NDArray[np.int64], a_class: int, seed: int) -> NDArray[np.int64]:
    """Places of so many pictures of each class, at random.

    Raises:
        ValueError: if a class has fewer.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    parts = [order[labels[order] == label][:a_class] for label in np.unique(labels)]
    if min(map(len, parts)) < a_class:
        raise ValueError(f"{a_class} pictures a class were asked for, one class has {min(map(len, parts))}")
    return np.concatenate(parts)


def measured(body: Checkpoint, data: TrainingData, name: str, seed: int, method: Method) -> dict[str, Any]:
    """The row of one training: the body goes on (`TUNED`), or its twin begins anew (`SCRATCH`)."""
    (state,) = body.snapshots.values()
    model = fitted(body.config, len(data.classes), method.image_size)
    source = Source("the shipped body", body.digest, body.config, body.preparation)
    task = Task(DATASET, len(data.classes), len(data.train))
    train = recipes(source, model, task, method, seed)[name]
    start = transferred(state, body.config, model, seed) if name == TUNED else None
    return trained(model, train, data, start=start).row


def read_features(body: Checkpoint, data: TrainingData) -> float:
    """Test accuracy of a logistic regression on what the frozen body gives."""
    (state,) = body.snapshots.values()
    model = create_model(body.config)
    model.load_state_dict(state)
    normalise, _ = normaliser(data.preparation, torch.float32, torch.device("cpu"))
    train, test = (features(model.eval(), normalise(part.images).numpy()) for part in (data.train, data.test))
    return linear_accuracy(train, data.train.labels.numpy(), test, data.test.labels.numpy())
