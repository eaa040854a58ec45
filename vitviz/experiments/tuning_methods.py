"""Measure ways to fine-tune one backbone on few images: learning rates, frozen layers, image size."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS
from vitviz.experiments.transfer_plan import DIGITS, SEEDS
from vitviz.models import parameter_count
from vitviz.training.fine_tuning_race import SCRATCH, TUNED, Method

NAME = "tuning"
PLAN = DIGITS  # whose backbones, images and updates these are
USUAL = "two_rates"  # what the page begins with, and all others are compared with
SIZES = (5, 20, 110)  # images a class
LARGER = {"mnist_vit": 40, "cifar10_vit": 48}  # px: about one and a half times as before, of whole patches


@dataclass(frozen=True)
class Way:
    """One way to fine-tune: its title, description and changes of the usual `Method`."""

    title: str
    does: str
    changes: dict[str, object]


WAYS = {
    USUAL: Way("Two rates", "the backbone at 0.0003, the new head at 0.001", {}),
    "one_rate": Way("One rate", "backbone and head both at 0.001", {"learning_rate": 1e-3}),
    "lesson": Way(
        "The lecture's rates", "the backbone at 0.00001, the head at 0.001", {"learning_rate": 1e-5}
    ),
    "layers": Way(
        "Layer-wise decay",
        "each layer at 0.7 of the rate of the one after it, the last at 0.7 of 0.0003",
        {"layer_decay": 0.7},
    ),
    # At 0.001 a head alone is at 84 % where its features hold 97: MNIST's backbone, 20 a class.
    "frozen": Way("Frozen backbone", "only the head, at 0.03", {"body": "head", "head_learning_rate": 0.03}),
    "larger": Way("Larger images", "two rates; positions are resized", {}),
    SCRATCH: Way(
        "From scratch", "random weights at the best of five rates, tried with 20 images a class", {}
    ),
}


def method_of(way: str, source: str) -> Method:
    """Return the fine-tuning method of one backbone in one way."""
    size = {"image_size": LARGER[source]} if way == "larger" else {}
    return replace(PLAN.method_of(source), **WAYS[way].changes, **size)  # type: ignore[arg-type]


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
        "ways": {name: way.does for name, way in WAYS.items()},
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
    size = parameter_count.parameters(fitted(body.config, len(splits.classes), method.image_size))
    name = SCRATCH if cell["way"] == SCRATCH else TUNED
    return {"parameters": sum(size.values()), **train_cell(body, PLAN, splits, name, cell["seed"], method)}
