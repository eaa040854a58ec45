"""Measure hard and soft distillation of a DeiT at several temperatures and weights, against a ViT."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vitviz.config import TrainConfig
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.data_size_training import measure_heads, teacher_for
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.single_run import prepare_data, trained

TWIN, HARD = "twin", "hard"
SOFT = tuple((temperature, weight) for temperature in (1.0, 3.0, 10.0) for weight in (0.1, 0.5, 0.9))
LESSONS = (TWIN, HARD, *(f"soft τ {temperature:g} λ {weight:g}" for temperature, weight in SOFT))
# By set the sizes and the lessons: on CIFAR-10, where one takes minutes, the paper's and the softest.
SIZES = {"digits": (100, 400), "cifar10": (4_000, 48_000)}
SEEDS = {"digits": tuple(range(10)), "cifar10": (0, 1, 2)}
GIVEN = {"digits": LESSONS, "cifar10": (TWIN, HARD, LESSONS[-1])}


def experiment(dataset: str) -> Experiment:
    """Return every way of distillation at every size and seed, with a ViT of as many updates as baseline."""
    cells: list[Cell] = [
        {"lesson": lesson, "pictures": images, "seed": seed}
        for seed in SEEDS[dataset]
        for images in SIZES[dataset]
        for lesson in GIVEN[dataset]
    ]
    grid = GRIDS[dataset]
    settings = {
        "dataset": dataset,
        "updates": grid.updates,
        "batch_size": grid.train.batch_size,
        "teacher": "cnn",
    }
    return Experiment(
        f"teaching_{dataset}", f"Does a teacher help? ({dataset})", cells, partial(measure, dataset), settings
    )


def recipe(lesson: str, train: TrainConfig) -> TrainConfig:
    """Return the grid's recipe with one way of distillation.

    Raises:
        ValueError: if there is no such lesson.
    """
    if lesson == TWIN:
        return train
    if lesson == HARD:
        return replace(train, distill_from="this cell's CNN", distillation="hard")
    if lesson not in LESSONS:
        raise ValueError(f"lesson must be one of {', '.join(LESSONS)}, received {lesson!r}")
    temperature, weight = SOFT[LESSONS.index(lesson) - 2]
    return replace(
        train,
        distill_from="this cell's CNN",
        distillation="soft",
        distillation_temperature=temperature,
        distillation_weight=weight,
    )


def measure(dataset: str, cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one lesson of one set."""
    grid, lesson = GRIDS[dataset], cell["lesson"]
    train = grid.trained_on(cell["pictures"], cell["seed"])
    splits = prepare_data(grid.preparation, train)
    if lesson == TWIN:
        return trained(grid.models["vit"], train, splits).row
    settings = {"pictures": cell["pictures"], "augmented": True, "seed": cell["seed"]}
    teacher = teacher_for(grid, settings, splits, folder)
    student = trained(grid.models["deit"], recipe(lesson, train), splits, teacher)
    return student.row | measure_heads(student, splits)
