"""How much data? CNN, hybrid, Swin, ViT and DeiT on a growing number of the same pictures, at equal updates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.training import Trained, trained
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.models.zoo import create_model
from vitviz.training.pictures import TrainingData, training_data
from vitviz.training.run_config import Member, RunConfig

TITLES = {"cnn": "CNN", "hybrid": "Hybrid", "swin": "Swin", "vit": "ViT", "deit": "DeiT"}
RACERS = ("cnn", "hybrid", "swin", "vit")  # what races live: the DeiT would wait for its teacher
SEEDS = (0, 1, 2)
PRESET = "data_race"  # the race's name in a RunConfig


@dataclass(frozen=True)
class Grid:
    """One set: the five models, how they are trained, and how many pictures they see.

    Attributes:
        sizes: numbers of training pictures; the last is all that validation leaves.
        updates: of the weights, for every model and size.
    """

    models: dict[str, ModelConfig]
    preparation: Preparation
    train: TrainConfig
    sizes: tuple[int, ...]
    updates: int

    def trained_on(
        self, pictures: int, seed: int = 0, augmented: bool = True, threads: int = 1
    ) -> TrainConfig:
        """The recipe of one cell: so many pictures, the grid's updates; a batch never holds a picture twice."""
        batch = min(self.train.batch_size, pictures)
        plain: dict[str, Any] = {} if augmented else {"flip": False, "shift_px": 0}
        return replace(
            self.train,
            train_fraction=pictures / self.sizes[-1],
            batch_size=batch,
            epochs=self.updates * batch / pictures,
            seed=seed,
            threads=threads,
            **plain,
        )


_RECIPE = TrainConfig(
    dataset="digits", epochs=1, batch_size=64, learning_rate=2e-3, weight_decay=0.05, label_smoothing=0.1
)
_VIT = ViTConfig(embed_dim=64, depth=3, num_heads=4, mlp_ratio=2.0)
_HYBRID = ViTConfig(embed_dim=64, depth=2, num_heads=4, mlp_ratio=2.0, stem=(16, 32, 64), readout="mean")
_SWIN = SwinConfig(patch_size=4, window_size=4, embed_dim=48, depths=(2, 2), num_heads=(3, 6), mlp_ratio=2.0)
_CNN = CNNConfig(widths=(16, 32, 64, 96), blocks=(0, 1, 1, 1), pooled=True)


def _grey(image_size: int, patch_size: int) -> dict[str, ModelConfig]:
    of: dict[str, Any] = {"image_size": image_size, "in_chans": 1}
    vit = replace(_VIT, patch_size=patch_size, **of)
    return {
        "cnn": replace(_CNN, widths=(8, 16, 32, 64), **of),
        "hybrid": replace(_HYBRID, patch_size=8 if image_size == 32 else 4, stem=(8, 16, 64), **of),
        "swin": replace(_SWIN, embed_dim=32, num_heads=(2, 4), window_size=image_size // 8, **of),
        "vit": vit,
        "deit": replace(vit, distilled=True),
    }


GRIDS: dict[str, Grid] = {
    "digits": Grid(_grey(32, 8), GREY_32, replace(_RECIPE, shift_px=3), (50, 100, 200, 400, 800, 1293), 400),
    "cifar10": Grid(
        {"cnn": _CNN, "hybrid": _HYBRID, "swin": _SWIN, "vit": _VIT, "deit": replace(_VIT, distilled=True)},
        RGB_32,
        replace(_RECIPE, dataset="cifar10", validation_fraction=0.04, flip=True, shift_px=4),
        (250, 1_000, 4_000, 16_000, 48_000),
        2_000,
    ),
    "mnist": Grid(
        _grey(28, 7),
        GREY_28,
        replace(_RECIPE, dataset="mnist", validation_fraction=0.04, shift_px=2),
        (50, 250, 1_000, 4_000, 16_000, 57_600),
        600,
    ),
}


def race(dataset: str, pictures: int, seed: int = 0, augmented: bool = True) -> RunConfig:
    """One size of a grid as a run that steps its models in turn: what the stored points were trained with.

    Raises:
        ValueError: if the grid has no such set or size.
    """
    if dataset not in GRIDS or pictures not in GRIDS[dataset].sizes:
        raise ValueError(f"there is no grid of {dataset!r} with {pictures} pictures")
    grid = GRIDS[dataset]
    members = tuple(Member(name, TITLES[name], grid.models[name]) for name in RACERS)
    train = grid.trained_on(pictures, seed, augmented)
    name = f"How much data? {pictures:,} pictures"
    return RunConfig(members[0].model, grid.preparation, train, name, PRESET, members=members)


def experiment(dataset: str) -> Experiment:
    """The grid of one set: models, sizes and seeds, with the pictures augmented and as they are."""
    grid = GRIDS[dataset]
    cells: list[Cell] = [
        {"model": model, "pictures": pictures, "augmented": augmented, "seed": seed}
        for augmented, seeds in ((True, SEEDS), (False, SEEDS))
        for seed in seeds
        for pictures in grid.sizes
        for model in grid.models
    ]
    settings = {
        "dataset": dataset,
        "updates": grid.updates,
        "batch_size": grid.train.batch_size,
        "learning_rate": grid.train.learning_rate,
        "parameters": {
            name: sum(p.numel() for p in create_model(model).parameters())
            for name, model in grid.models.items()
        },
        "seeds": "of weights, order and augmentation; the pictures are the same ones",
        "curve": "[updates, core-seconds, accuracy on the validation pictures]",
    }
    needed = () if dataset == "digits" else (dataset,)
    return Experiment(
        f"data_size_{dataset}", f"How much data? ({dataset})", cells, _Measure(dataset), settings, needed
    )


@dataclass(frozen=True)
class _Measure:
    """Trains one cell of one set's grid."""

    dataset: str

    def __call__(self, cell: Cell, folder: Path) -> dict[str, Any]:
        torch.set_num_threads(1)
        grid = GRIDS[self.dataset]
        train = grid.trained_on(cell["pictures"], cell["seed"], cell["augmented"])
        data = training_data(load_dataset(self.dataset), grid.preparation, train)
        if len(data.train) != cell["pictures"]:
            raise ValueError(f"{cell['pictures']} training pictures were asked for, {len(data.train)} found")
        teacher = self._teacher(cell, data, folder) if cell["model"] == "deit" else None
        taught = train if teacher is None else replace(train, distill_from="this cell's CNN")
        found = trained(grid.models[cell["model"]], taught, data, teacher)
        if cell["model"] == "cnn":
            save_file(found.weights, _weights_file(cell, folder))
        return found.row | ({} if teacher is None else _heads(found, data))

    def _teacher(self, cell: Cell, data: TrainingData, folder: Path) -> nn.Module:
        """The CNN that was trained on the very pictures that the student sees."""
        grid, asked = GRIDS[self.dataset], {**cell, "model": "cnn"}
        if not _weights_file(asked, folder).is_file():
            train = grid.trained_on(cell["pictures"], cell["seed"], cell["augmented"])
            save_file(trained(grid.models["cnn"], train, data).weights, _weights_file(asked, folder))
        teacher = create_model(grid.models["cnn"])
        teacher.load_state_dict(load_file(_weights_file(asked, folder)))
        return teacher


def _weights_file(cell: Cell, folder: Path) -> Path:
    kind = "augmented" if cell["augmented"] else "plain"
    return folder / f"{cell['model']}-{cell['pictures']}-{kind}-{cell['seed']}.safetensors"


def _heads(found: Trained, data: TrainingData) -> dict[str, Any]:
    """Test accuracy of each of the DeiT's heads, of the sum of their softmaxes and of their logits' mean."""
    by_cls, by_dist = found.test_logits["logits_cls"], found.test_logits["logits_dist"]
    labels = data.test.labels.numpy()

    def right(scores: np.ndarray) -> float:
        return round(float((scores.argmax(axis=1) == labels).mean()), 4)

    return {
        "test_cls": right(by_cls),
        "test_dist": right(by_dist),
        "test_softmax_sum": right(_softmax(by_cls) + _softmax(by_dist)),
    }


def _softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
