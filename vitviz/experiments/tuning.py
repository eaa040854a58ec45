"""Measure ways to fine-tune one backbone on few images: learning rates, frozen layers, image size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vitviz.checkpoints import load_checkpoint
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.transfer import CHECKPOINTS, select_few_images, shared_settings, train_cell
from vitviz.experiments.transfer_plan import SEEDS
from vitviz.experiments.tuning_plan import LARGER, NAME, PLAN, SIZES, WAYS, method_of
from vitviz.models import parameter_count
from vitviz.models.transfer import fitted
from vitviz.training.fine_tuning_race import SCRATCH, TUNED


def experiment(checkpoints: Path = CHECKPOINTS) -> Experiment:
    """Return two backbones, seven ways, three numbers of images a class, three draws of images, head and order."""
    cells: list[Cell] = [
        {"source": source, "way": way, "a_class": a_class, "seed": seed}
        for source in PLAN.sources
        for seed in SEEDS
        for a_class in SIZES
        for way in WAYS
    ]
    settings = {
        **shared_settings(PLAN, checkpoints),
        "ways": {name: way.does for name, way in WAYS.items()},
        "larger_px": LARGER,
    }
    return Experiment(NAME, "How to fine-tune", cells, Measure(checkpoints), settings)


@dataclass(frozen=True)
class Measure:
    """Trains one cell; the shipped backbones are read from `checkpoints`."""

    checkpoints: Path

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        body = load_checkpoint(self.checkpoints / f"{cell['source']}.safetensors")
        method = method_of(cell["way"], cell["source"])
        data = select_few_images(PLAN, body, cell["a_class"], cell["seed"], method.image_size)
        size = parameter_count.parameters(fitted(body.config, len(data.classes), method.image_size))
        name = SCRATCH if cell["way"] == SCRATCH else TUNED
        return {"parameters": sum(size.values()), **train_cell(body, PLAN, data, name, cell["seed"], method)}
