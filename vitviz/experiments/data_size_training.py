"""The cells of 'How much data?': trained one by one, a DeiT with the CNN that saw the very same images."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from torch import nn

from vitviz.analysis.attention import softmax
from vitviz.experiments.data_size import EARLY_STOPPING, GRIDS, MORE_SEEDS, PATCH_SIZES, SEEDS, StudyGrid
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.single_run import PATIENCE, Trained, prepare_data, train_until_best, trained
from vitviz.models import model_cost
from vitviz.models.zoo import create_model
from vitviz.training.batches import TrainingData

Train = Callable[..., Trained]  # `trained` or `train_until_best`


def experiment(dataset: str) -> Experiment:
    """Return the grid of one dataset: models, sizes and seeds, with the images augmented and as they are."""
    grid = GRIDS[dataset]
    settings = {
        "dataset": dataset,
        "updates": grid.updates,
        "batch_size": grid.train.batch_size,
        "learning_rate": grid.train.learning_rate,
        "parameters": {
            name: sum(model_cost.parameters(model).values()) for name, model in grid.models.items()
        },
    }
    cells = list_cells(grid, True, MORE_SEEDS.get(dataset, SEEDS)) + list_cells(grid, False, SEEDS)
    title = f"How much data? ({dataset})"
    return Experiment(f"data_size_{dataset}", title, cells, partial(measure, grid, trained), settings)


def list_cells(grid: StudyGrid, augmented: bool, seeds: Sequence[int]) -> list[Cell]:
    """Return every model at every size."""
    return [
        {"model": model, "pictures": images, "augmented": augmented, "seed": seed}
        for seed in seeds
        for images in grid.sizes
        for model in grid.models
    ]


def early_stopping() -> Experiment:
    """Return the experiment that trains every size of CIFAR-10 until validation accuracy stops improving."""
    title = "How much data? Trained until validation accuracy stops improving (cifar10)"
    return _stop_early("early_stopping_cifar10", title, EARLY_STOPPING)


def patch_sizes() -> Experiment:
    """Return a ViT with patches of 8 px on growing numbers of images, trained like `early_stopping`."""
    return _stop_early("patch_size_cifar10", "Patch size and number of images (cifar10)", PATCH_SIZES)


def _stop_early(name: str, title: str, grid: StudyGrid) -> Experiment:
    settings = {
        "dataset": "cifar10",
        "most_updates": grid.updates,
        "patience_evaluations": PATIENCE,
        "validation_images": grid.held_out,
        "batch_size": grid.train.batch_size,
        "learning_rate": grid.train.learning_rate,
        "schedule": grid.train.schedule,
        "ema_decay": grid.train.ema_decay,
    }
    cells = list_cells(grid, True, (0,))
    return Experiment(name, title, cells, partial(measure, grid, train_until_best), settings)


def measure(grid: StudyGrid, train_model: Train, cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one cell of one set's grid."""
    train = grid.trained_on(cell["pictures"], cell["seed"], cell["augmented"])
    splits = prepare_data(grid.preparation, train)
    if len(splits.train) != cell["pictures"]:
        raise ValueError(f"expected {cell['pictures']} training images, received {len(splits.train)}")
    teacher = teacher_for(grid, cell, splits, folder) if cell["model"] == "deit" else None
    taught = train if teacher is None else replace(train, distill_from="this cell's CNN")
    fit = train_model(grid.models[cell["model"]], taught, splits, teacher)
    if cell["model"] == "cnn":
        save_file(fit.weights, _weights_file(cell, folder))
    return fit.row | (measure_heads(fit, splits) if teacher is not None and fit.test_logits else {})


def teacher_for(grid: StudyGrid, cell: Cell, splits: TrainingData, folder: Path) -> nn.Module:
    """Return the CNN trained on a student's images; trained now if `folder` has none.

    Args:
        grid: whose CNN it is.
        cell: 'pictures', 'augmented' and 'seed' of the student.
        splits: its images.
        folder: keeps the weights of teachers.
    """
    teacher_cell = {**cell, "model": "cnn"}
    if not _weights_file(teacher_cell, folder).is_file():
        recipe = grid.trained_on(cell["pictures"], cell["seed"], cell["augmented"])
        save_file(trained(grid.models["cnn"], recipe, splits).weights, _weights_file(teacher_cell, folder))
    teacher = create_model(grid.models["cnn"])
    teacher.load_state_dict(load_file(_weights_file(teacher_cell, folder)))
    return teacher


def _weights_file(cell: Cell, folder: Path) -> Path:
    kind = "augmented" if cell["augmented"] else "plain"
    return folder / f"{cell['model']}-{cell['pictures']}-{kind}-{cell['seed']}.safetensors"


def measure_heads(fit: Trained, splits: TrainingData) -> dict[str, Any]:
    """Return the test accuracy of each DeiT head and of the sum of their softmaxes."""
    by_cls, by_dist = fit.test_logits["logits_cls"], fit.test_logits["logits_dist"]
    labels = splits.test.labels.numpy()

    def measure_accuracy(scores: np.ndarray) -> float:
        return round(float((scores.argmax(axis=1) == labels).mean()), 4)

    return {
        "test_cls": measure_accuracy(by_cls),
        "test_dist": measure_accuracy(by_dist),
        "test_softmax_sum": measure_accuracy(softmax(by_cls) + softmax(by_dist)),
    }
