"""The lecture's open question: what is attention worth whose queries, keys and values are convolutions (recipe G)?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from vitviz.config import CNNConfig, ConvAttentionConfig, ModelConfig, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.training import trained
from vitviz.models import tally
from vitviz.models.presets import GREY_28
from vitviz.training.pictures import TrainingData, training_data

NAME = "conv_attention"
SIDE_PX = 14  # 196 pixels: all 784 of a whole digit cost sixteen times as much
SEEDS = (0, 1, 2)
TITLES = {
    "written": "As the lecture wrote it",
    "scaled": "With 1/√d",
    "upright": "A V, not Aᵀ V",
    "corrected": "Both corrected",
    "control": "No attention, y = V",
    "vit": "ViT of the same size",
    "cnn": "CNN of the same size",
}
_G = ConvAttentionConfig(image_size=SIDE_PX)
MODELS: dict[str, ModelConfig] = {
    "written": replace(_G, scaled=False, transposed_values=True),
    "scaled": replace(_G, transposed_values=True),
    "upright": replace(_G, scaled=False),
    "corrected": _G,
    "control": replace(_G, attends=False),
    "vit": ViTConfig(
        image_size=SIDE_PX, patch_size=2, in_chans=1, embed_dim=16, depth=3, num_heads=2, mlp_ratio=2.0
    ),
    "cnn": CNNConfig(image_size=SIDE_PX, in_chans=1, widths=(8, 16, 16), blocks=(0, 1, 1), pooled=True),
}
PREPARATION = replace(GREY_28, image_size=SIDE_PX)
TRAIN = TrainConfig(
    dataset="mnist",
    validation_fraction=0.04,
    train_fraction=0.5,  # 450 updates: the seven nets and three seeds in ten minutes of one core
    epochs=1,
    batch_size=64,
    learning_rate=2e-3,
    weight_decay=0.05,
    precision="fp32",
    threads=1,
)


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
        "parameters": {name: sum(tally.parameters(model).values()) for name, model in MODELS.items()},
        "multiply_adds": {
            name: sum(tally.multiply_adds(model, SIDE_PX).values()) for name, model in MODELS.items()
        },
        "seeds": "of weights and order; the pictures are the same ones",
        "curve": "[updates, core-seconds, accuracy on the validation pictures]",
    }
    title = "Attention over convolutions"
    return Experiment(NAME, title, cells, Measure(TRAIN), settings, (TRAIN.dataset,))


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
    """The same pictures for every cell: making them smaller takes longer than most trainings."""
    return training_data(load_dataset(train.dataset), PREPARATION, train)
