"""Gains from a teacher, computed by hand, and the recipes of the distillation experiment."""

import re

import pytest

from vitviz.analysis.distillation import (
    NO_TWIN,
    Duel,
    compute_duels,
    describe_tally,
)
from vitviz.analysis.verdict import compare
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, LESSONS, SIZES, experiment, recipe


def grid_row(model: str, pictures: int, seed: int, test: float, **more: float) -> dict[str, object]:
    return {
        "model": model,
        "pictures": pictures,
        "seed": seed,
        "augmented": True,
        "test": test,
        "test_images": 10_000,
        **more,
    }


ROWS = [
    grid_row("vit", 50, 0, 0.70),
    grid_row("vit", 50, 1, 0.60),
    grid_row("deit", 50, 0, 0.75, test_cls=0.71),
    grid_row("deit", 50, 1, 0.61, test_cls=0.59),
    grid_row("vit", 400, 0, 0.90),
    grid_row("vit", 400, 1, 0.90),
    grid_row("deit", 400, 0, 0.88),
    grid_row("deit", 400, 1, 0.89),
    grid_row("deit", 800, 0, 0.99),  # without a twin it says nothing
]


def duel(pictures: int, *gains: float, images: int = 10_000) -> Duel:
    """A duel of seeds with these gains."""
    twin = {seed: 0.7 for seed in range(len(gains))}
    student = {seed: 0.7 + gain for seed, gain in enumerate(gains)}
    return Duel(pictures, compare(student, twin, images=images))


def test_a_student_is_better_where_the_interval_excludes_0() -> None:
    few, many = compute_duels(ROWS, augmented=True)  # with 800 there is no twin
    assert (few.pictures, many.pictures) == (50, 400)
    assert few.verdict.estimate == pytest.approx(3.0) and many.verdict.estimate == pytest.approx(-1.5)
    assert (few.outcome, many.outcome) == ("no difference shown", "no difference shown")
    assert duel(50, 0.05, 0.05).outcome == "higher"
    assert duel(50, 0.05, 0.04).outcome == "no difference shown", "two seeds"
    assert duel(50, 0.05).verdict.reason == "one seed"
    assert compute_duels(ROWS, augmented=False) == []


def test_all_datasets_are_counted_by_size() -> None:
    by_dataset = {
        "Digits": [duel(50, 0.05, 0.05), duel(100, -0.05, -0.05), duel(200, -0.05, 0.04)],
        "MNIST": [duel(250, 0.05, 0.05), duel(1000, 0.01)],
        "CIFAR-10": [],
    }
    text = describe_tally(by_dataset, augmented=True)
    counts = re.findall(r"\d+(?: \([^)]*\))?", text.partition(". ")[0])
    assert counts == ["5", "2 (Digits 50; MNIST 250)", "1 (Digits 100)", "1", "1"]
    assert "positive at 3: +1.1 points on average" in text
    assert describe_tally({"Digits": []}, augmented=False) == NO_TWIN


def test_every_lesson_is_another_recipe() -> None:
    train = GRIDS["digits"].trained_on(100)
    recipes = [recipe(lesson, train) for lesson in LESSONS]
    assert len({*recipes}) == len(LESSONS)
    assert recipes[0] == train
    assert recipes[1].distillation == "hard"
    assert (recipes[2].distillation_temperature, recipes[2].distillation_weight) == (1.0, 0.1)
    with pytest.raises(ValueError, match="lesson must be"):
        recipe("gentle", train)
    for dataset, sizes in SIZES.items():
        assert len(experiment(dataset).cells) == 3 * len(sizes) * len(GIVEN[dataset])
