"""Compare fine-tuning, frozen features and training from scratch on growing numbers of images."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.analysis.probes import linear_accuracy
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import Checkpoint, load_checkpoint
from vitviz.config import TrainConfig
from vitviz.config_fields import Size
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS
from vitviz.experiments.single_run import prepare_data, trained
from vitviz.experiments.transfer_plan import FROZEN, SEEDS, Plan
from vitviz.models.backbone_transfer import fitted, fitted_preparation, transferred
from vitviz.models.zoo import create_model
from vitviz.probe.layers import extract_features
from vitviz.training.batches import PreparedImages, TrainingData, make_normaliser
from vitviz.training.fine_tuning_race import SCRATCH, TUNED, BackboneSource, TargetTask, TuningMethod, recipes


def experiment(plan: Plan, checkpoints: Path = CHECKPOINTS) -> Experiment:
    """Return a plan's backbones, four ways, its numbers of images a class, three draws of images, head and order."""
    cells: list[Cell] = [
        {"source": source, "method": method, "a_class": a_class, "seed": seed}
        for source in plan.sources
        for seed in SEEDS
        for a_class in plan.sizes
        for method in plan.methods
    ]
    settings = {
        **shared_settings(plan, checkpoints),
        "learning_rate": plan.method.learning_rate,
        "head_learning_rate": plan.method.head_learning_rate,
    }
    title = "What a trained backbone is worth"
    return Experiment(plan.name, title, cells, partial(measure, plan, checkpoints), settings)


def shared_settings(plan: Plan, checkpoints: Path) -> dict[str, Any]:
    """Return what all trainings of the shipped backbones on a few images have in common."""
    return {
        "dataset": plan.dataset,
        "updates": plan.method.updates,
        "batch_size": plan.method.batch_size,
        "scratch_learning_rate": plan.scratch_rates,
        "digests": {
            source: read_header(checkpoints / f"{source}.safetensors").identity for source in plan.sources
        },
        "test_pictures": plan.test_pictures,
    }


def measure(plan: Plan, checkpoints: Path, cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one cell of a plan; the shipped backbones are read from `checkpoints`."""
    body = load_checkpoint(checkpoints / f"{cell['source']}.safetensors")
    splits = select_few_images(plan, body, cell["a_class"], cell["seed"])
    if cell["method"] == FROZEN:
        return {"test": round(read_features(body, splits), 4)}
    name = TUNED if cell["method"] == TUNED else SCRATCH
    method = plan.method_of(cell["source"], cell["method"])
    return train_cell(body, plan, splits, name, cell["seed"], method)


def select_few_images(
    plan: Plan, body: Checkpoint, a_class: int, seed: int, image_size: Size | None = None
) -> TrainingData:
    """Return a number of images of each class, drawn with the seed; validation and test images are fixed.

    Args:
        image_size: of the images in px; None: as the backbone has read them.
    """
    preparation = fitted_preparation(body.preparation, image_size or body.config.image_size, drawn=True)
    splits = prepare_data(preparation, TrainConfig(dataset=plan.dataset, validation_fraction=plan.validation))
    chosen = draw_indices(splits.train.labels.numpy(), a_class, seed)
    return replace(splits, train=PreparedImages(splits.train.images[chosen], splits.train.labels[chosen]))


def draw_indices(labels: NDArray[np.int64], a_class: int, seed: int) -> NDArray[np.int64]:
    """Return random indices of a number of images per class.

    Raises:
        ValueError: if a class has fewer.
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    parts = [order[labels[order] == label][:a_class] for label in np.unique(labels)]
    if min(map(len, parts)) < a_class:
        raise ValueError(f"expected {a_class} images per class, received a class of {min(map(len, parts))}")
    return np.concatenate(parts)


def train_cell(
    body: Checkpoint, plan: Plan, splits: TrainingData, name: str, seed: int, method: TuningMethod
) -> dict[str, Any]:
    """Return the row of one training, pretrained (`TUNED`) or from scratch (`SCRATCH`)."""
    (state,) = body.snapshots.values()
    model = fitted(body.config, len(splits.classes), method.image_size)
    source = BackboneSource("the shipped backbone", body.identity, body.config, body.preparation)
    task = TargetTask(
        plan.dataset, len(splits.classes), len(splits.train), validation_fraction=plan.validation
    )
    train = recipes(source, model, task, method, seed)[name]
    start = transferred(state, body.config, model, seed) if name == TUNED else None
    return trained(model, train, splits, start=start).row


def read_features(body: Checkpoint, splits: TrainingData) -> float:
    """Return the test accuracy of a logistic regression on what the frozen backbone gives."""
    (state,) = body.snapshots.values()
    model = create_model(body.config)
    model.load_state_dict(state)
    normalise, _ = make_normaliser(splits.preparation, torch.float32, torch.device("cpu"))
    train, test = (
        extract_features(model.eval(), normalise(part.images).numpy()) for part in (splits.train, splits.test)
    )
    return linear_accuracy(train, splits.train.labels.numpy(), test, splits.test.labels.numpy())
