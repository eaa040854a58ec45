"""One training of an experiment: what it reached, and on the way; no run directory, no snapshots."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vitviz.config import ModelConfig, TrainConfig
from vitviz.experiments.result import CURVE_PICTURES
from vitviz.models.zoo import create_model
from vitviz.training.batches import Pictures, TrainingData, normaliser
from vitviz.training.loop import EVALUATION_BATCH, Diverged, Trainer

POINTS = 10  # of a curve


@dataclass(frozen=True)
class Trained:
    """What a training came to.

    Attributes:
        row: 'test' and 'validation' accuracy, 'curve' of [updates, core-seconds, validation accuracy].
        weights: as they are shown and saved.
        test_logits: (pictures, classes) on the test pictures, by name: 'logits', and a DeiT's two heads'.
    """

    row: dict[str, Any]
    weights: dict[str, Tensor]
    test_logits: dict[str, np.ndarray]


def trained(
    model: ModelConfig,
    train: TrainConfig,
    data: TrainingData,
    teacher: nn.Module | None = None,
    start: Mapping[str, Tensor] | None = None,
) -> Trained:
    """Train one model to its end; core-seconds are the processor's, of the updates alone.

    Args:
        start: the weights that it begins with; None: random ones.

    Raises:
        ValueError: if model, data and recipe do not fit together.
    """
    trainer = Trainer(model, train, data, teacher=teacher, start=start)
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
    logits = _test_logits(trainer, data)
    row = {
        "test": _right(logits["logits"], data.test),
        "validation": round(validated.accuracy, 4),
        "training_core_s": round(spent, 2),
        "precision": trainer.precision,
        "curve": curve,
    }
    return Trained(row, trainer.weights.state(), logits)


@torch.inference_mode()
def _test_logits(trainer: Trainer, data: TrainingData) -> dict[str, np.ndarray]:
    """fp32 logits of the test pictures by the weights that are saved."""
    model = create_model(trainer.model_config)
    model.load_state_dict(trainer.weights.state())
    model.eval()
    wanted = ("logits_cls", "logits_dist") if getattr(trainer.model_config, "distilled", False) else ()
    normalise, _ = normaliser(data.preparation, torch.float32, torch.device("cpu"))
    parts: dict[str, list[Tensor]] = {}
    for start in range(0, len(data.test), EVALUATION_BATCH):
        inputs = normalise(data.test.images[start : start + EVALUATION_BATCH])
        logits, record = model(inputs, record=wanted) if wanted else (model(inputs), {})
        for name, values in {"logits": logits, **{name: record[name] for name in wanted}}.items():
            parts.setdefault(name, []).append(values)
    return {name: torch.cat(values).numpy() for name, values in parts.items()}


def _right(logits: np.ndarray, pictures: Pictures) -> float:
    return round(float((logits.argmax(axis=1) == pictures.labels.numpy()).mean()), 4)
