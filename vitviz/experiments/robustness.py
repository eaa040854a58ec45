"""Measure CIFAR-10 models on images that are shifted, rotated, blurred, covered, lit or corrupted."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.image_changes import ChangeSetting, apply_change
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.data.datasets import load_dataset
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.robustness import answers

NAME = "robustness"
MODELS = ("cifar10_cnn_wide", "cifar10_vit", "cifar10_hybrid", "cifar10_swin", "cifar10_deit_soft")
PICTURES = 1000  # the first of the test set
NONE = "none"  # the cell of a model's answers to the images as they are
STRENGTHS: dict[str, tuple[float, ...]] = {
    "shift": (-12, -6, -3, -1, 1, 3, 6, 12),
    "rotate": (-135, -90, -45, -15, 15, 45, 90, 135, 180),
    "blur": (0.5, 1, 1.5, 2, 4),
    "occlude": (0.1875, 0.375, 0.5625, 0.75),
    "zoom": tuple(2 ** (i / 8) for i in (-8, -4, -2, 2, 4, 8)),
    "brightness": (-0.75, -0.375, 0.375, 0.75),
    "contrast": (0.25, 0.5, 1.5, 2),
    "noise": (0.05, 0.1, 0.2, 0.35, 0.5),
    "shuffle": (0.1, 0.25, 0.5, 1),
}


def experiment(images: int = PICTURES, checkpoints: Path = CHECKPOINTS) -> Experiment:
    """Return the accuracy of every shipped model at several strengths of every change, one cell a model and strength.

    Of shuffles and noises every image has its own, with its place in the test set as the seed; a cover lies in the
    middle.
    """
    measure = partial(measure_cell, images, checkpoints)
    strengths = [(NONE, 0.0), *((name, level) for name in STRENGTHS for level in STRENGTHS[name])]
    cells = [
        {"change": name, "value": level, "model": model} for name, level in strengths for model in MODELS
    ]
    settings = {
        "pictures": images,
        "data": "cifar10",
        "digests": {model: read_header(checkpoints / f"{model}.safetensors").identity for model in MODELS},
    }
    return Experiment(NAME, "How much a changed image changes the answer", cells, measure, settings)


def measure_cell(pictures: int, checkpoints: Path, cell: Cell, folder: Path) -> dict[str, Any]:
    """right: the share of changed images that is answered rightly; same: as the image itself was answered."""
    header = read_header(checkpoints / f"{cell['model']}.safetensors")
    model = open_model(checkpoints / f"{cell['model']}.safetensors", header.steps[-1])
    dataset = load_dataset("cifar10")
    images, labels = dataset.test_images[:pictures], dataset.labels_of("test")[:pictures]
    before = _unchanged(model, images, folder / f"{cell['model']}.npy")
    if cell["change"] == NONE:
        return {"right": share(before == labels), "same": 1.0}
    after = answers(model, all_changed(images, cell["change"], cell["value"]))
    return {"right": share(after == labels), "same": share(after == before)}


def all_changed(images: NDArray[np.uint8], name: str, strength: float) -> NDArray[np.uint8]:
    """Return every image (N, S, S, 3) changed, each with its place as the seed."""
    return np.stack(
        [apply_change(image, name, strength, ChangeSetting(seed=i)) for i, image in enumerate(images)]
    )


def share(hits: NDArray[np.bool_]) -> float:
    """Return the share that is true, to a ten-thousandth."""
    return round(float(hits.mean()), 4)


def _unchanged(model: LoadedModel, images: NDArray[np.uint8], cache_file: Path) -> NDArray[np.int64]:
    if cache_file.is_file():
        predictions: NDArray[np.int64] = np.load(cache_file, allow_pickle=False)
        return predictions
    predictions = answers(model, images)
    np.save(cache_file, predictions)
    return predictions
