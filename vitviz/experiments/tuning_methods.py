"""Measure ways to fine-tune one backbone on few images: learning rates, frozen layers, image size."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS
from vitviz.experiments.transfer_plan import DIGITS, SEEDS
from vitviz.models import model_cost
from vitviz.training.fine_tuning_race import SCRATCH, TUNED, TuningMethod

NAME = "tuning"
PLAN = DIGITS  # whose backbones, images and updates these are
USUAL = "two_rates"  # what the page begins with, and all others are compared with
SIZES = (5, 20, 110)  # images a class
LARGER = {"mnist_vit": 40, "cifar10_vit": 48}  # px: about one and a half times as before, of whole patches


WAYS = {  # titles; what each does stands in pages/studies/tuning_methods.toml
    USUAL: "Two rates",
    "one_rate": "One rate",
    "lesson": "The lecture's rates",
    "layers": "Layer-wise decay",
    "frozen": "Frozen backbone",
    "larger": "Larger images",
    SCRATCH: "From scratch",
}
CHANGES: dict[str, dict[str, Any]] = {  # of the usual method
    "one_rate": {"learning_rate": 1e-3},
    "lesson": {"learning_rate": 1e-5},
    "layers": {"layer_decay": 0.7},
    # At 0.001 a head alone is at 84 % where its features hold 97: MNIST's backbone, 20 images a class.
    "frozen": {"body": "head", "head_learning_rate": 0.03},
}


def method_of(way: str, source: str) -> TuningMethod:
    """Return the fine-tuning method of one backbone in one way."""
    larger: dict[str, Any] = {"image_size": LARGER[source]} if way == "larger" else {}
    return replace(PLAN.method_of(source), **CHANGES.get(way, larger))


def experiment(checkpoints: Path = CHECKPOINTS) -> Experiment:
    """Return two backbones, seven ways, three numbers of images a class, three draws of images, head and order."""
    from vitviz.experiments.transfer import shared_settings

    cells: list[Cell] = [
        {"source": source, "way": way, "a_class": a_class, "seed": seed}
        for source in PLAN.sources
        for seed in SEEDS
        for a_class in SIZES
        for way in WAYS
    ]
    settings = {
        **shared_settings(PLAN, checkpoints),
        "larger_px": LARGER,
    }
    return Experiment(NAME, "How to fine-tune", cells, partial(measure, checkpoints), settings)


def measure(checkpoints: Path, cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one cell; the shipped backbones are read from `checkpoints`."""
    from vitviz.checkpoints import load_checkpoint
    from vitviz.experiments.transfer import select_few_images, train_cell
    from vitviz.models.backbone_transfer import fitted

    body = load_checkpoint(checkpoints / f"{cell['source']}.safetensors")
    method = method_of(cell["way"], cell["source"])
    splits = select_few_images(PLAN, body, cell["a_class"], cell["seed"], method.image_size)
    size = model_cost.parameters(fitted(body.config, len(splits.classes), method.image_size))
    name = SCRATCH if cell["way"] == SCRATCH else TUNED
    return {"parameters": sum(size.values()), **train_cell(body, PLAN, splits, name, cell["seed"], method)}
