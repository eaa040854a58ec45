"""One training of an experiment, to its last update or with early stopping; without a run directory."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vitviz.config import ModelConfig, Preparation, TrainConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments.result_file import CURVE_PICTURES, pack_correct
from vitviz.models.zoo import create_model
from vitviz.training import loop
from vitviz.training.batches import PreparedImages, TrainingData, make_normaliser, prepare_training_data
from vitviz.training.loop import EVALUATION_BATCH, Diverged, Trainer
from vitviz.training.records import Ended, Evaluation

POINTS = 10  # of a curve
PATIENCE = 5  # evaluations after the best one before early stopping


@dataclass(frozen=True)
class Trained:
    """The outcome of a training.

    Attributes:
        row: 'test' and 'validation' accuracy, 'right' (test images, see `pack_correct`), 'curve' of [updates,
            core-seconds, validation accuracy].
        weights: as they are shown and saved.
        test_logits: (images, classes) on the test images, by name: 'logits', and a DeiT's two heads'.
    """

    row: dict[str, Any]
    weights: dict[str, Tensor]
    test_logits: dict[str, np.ndarray]


@lru_cache(maxsize=2)
def prepare_data(preparation: Preparation, train: TrainConfig) -> TrainingData:
    """Return a recipe's images, prepared once for all cells that share them."""
    return prepare_training_data(load_dataset(train.dataset), preparation, train)


def trained(
    model: ModelConfig,
    train: TrainConfig,
    splits: TrainingData,
    teacher: nn.Module | None = None,
    start: Mapping[str, Tensor] | None = None,
) -> Trained:
    """Train one model to its end; core-seconds are the processor's, of the updates alone.

    Args:
        start: the weights that it begins with; None: random ones.

    Raises:
        ValueError: if model, data and recipe do not fit together.
    """
    trainer = Trainer(model, train, splits, teacher=teacher, start=start)
    total = trainer.total_steps or 1
    marks = {round(total * (index + 1) / POINTS) for index in range(POINTS)}
    curve: list[list[float]] = []
    spent = 0.0
    while not trainer.finished:
        began = time.process_time()
        try:
            trainer.advance()
        except Diverged as error:
            return Trained({"diverged": str(error), "curve": curve}, trainer.weights.state(), {})
        spent += time.process_time() - began
        if trainer.step in marks:
            reached = trainer.evaluate("validation", CURVE_PICTURES, exact=trainer.finished).accuracy
            curve.append([trainer.step, round(spent, 2), round(reached, 4)])
    validated = trainer.evaluate("validation", exact=True)
    weights = trainer.weights.state()
    logits = compute_test_logits(model, weights, splits)
    row = {
        **score_test(logits["logits"], splits.test),
        "validation": round(validated.accuracy, 4),
        "training_core_s": round(spent, 2),
        "precision": trainer.precision,
        "curve": curve,
    }
    return Trained(row, weights, logits)


def train_until_best(
    model: ModelConfig, train: TrainConfig, splits: TrainingData, teacher: nn.Module | None = None
) -> Trained:
    """Train until validation accuracy stops improving, and test the weights of the best evaluation.

    The training stops `PATIENCE` evaluations after the best one, or when its updates end.

    Raises:
        ValueError: if model, data and recipe do not fit together.
    """
    trainer = Trainer(model, train, splits, teacher=teacher)
    best = trainer.weights.state()
    curve: list[list[float]] = []
    for event in loop.train(trainer):
        if isinstance(event, Ended) and event.reason == "diverged":
            return Trained({"diverged": event.message, "curve": curve}, best, {})
        if isinstance(event, Evaluation):
            curve.append([event.step, round(event.seconds, 2), round(event.accuracy, 4)])
            waited = count_after_best([accuracy for _, _, accuracy in curve])
            if waited == 0:
                best = trainer.weights.state()
            if waited >= PATIENCE or trainer.finished:
                break
    at_best = curve[-1 - waited]
    logits = compute_test_logits(model, best, splits)
    row = {
        **score_test(logits["logits"], splits.test),
        "validation": at_best[2],
        "updates": trainer.step,
        "best_update": at_best[0],
        "evaluated_every": trainer.validate_every,
        "passes": round(trainer.epoch, 2),
        "ceiling_hit": waited < PATIENCE,
        "parameters": sum(parameter.numel() for parameter in create_model(model).parameters()),
        "training_core_s": curve[-1][1],
        "precision": trainer.precision,
        "curve": curve,
    }
    return Trained(row, best, logits)


def count_after_best(accuracies: Sequence[float]) -> int:
    """Return the number of evaluations after the first one that reached the highest accuracy."""
    return len(accuracies) - 1 - accuracies.index(max(accuracies))


@torch.inference_mode()
def compute_test_logits(
    config: ModelConfig, weights: Mapping[str, Tensor], splits: TrainingData
) -> dict[str, np.ndarray]:
    """Return fp32 logits of the test images by the weights that are saved."""
    model = create_model(config)
    model.load_state_dict(weights)
    model.eval()
    wanted = ("logits_cls", "logits_dist") if getattr(config, "distilled", False) else ()
    normalise, _ = make_normaliser(splits.preparation, torch.float32, torch.device("cpu"))
    parts: dict[str, list[Tensor]] = {}
    for start in range(0, len(splits.test), EVALUATION_BATCH):
        inputs = normalise(splits.test.images[start : start + EVALUATION_BATCH])
        logits, record = model(inputs, record=wanted) if wanted else (model(inputs), {})
        for name, values in {"logits": logits, **{name: record[name] for name in wanted}}.items():
            parts.setdefault(name, []).append(values)
    return {name: torch.cat(values).numpy() for name, values in parts.items()}


def score_test(logits: np.ndarray, images: PreparedImages) -> dict[str, Any]:
    """Return the test accuracy, and which images are classified correctly."""
    right = logits.argmax(axis=1) == images.labels.numpy()
    return {"test": round(float(right.mean()), 4), "right": pack_correct(right)}
