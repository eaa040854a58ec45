"""Gains from a teacher, computed by hand, and the recipes of the distillation experiment."""

import re

import pytest

from vitviz.analysis.distillation import (
    NO_TWIN,
    Duel,
    compute_duels,
    describe_tally,
)
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, LESSONS, SIZES, experiment, recipe


def grid_row(model: str, pictures: int, seed: int, test: float, **more: float) -> dict[str, object]:
    return {"model": model, "pictures": pictures, "seed": seed, "augmented": True, "test": test, **more}


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


def test_a_student_wins_by_more_than_its_spread_where_seeds_differ_less_than_it_gains() -> None:
    found = compute_duels(ROWS, augmented=True)
    assert [duel.pictures for duel in found] == [50, 400]  # with 800 there is no twin
    assert found[0].gains == pytest.approx((0.05, 0.01))
    assert [duel.verdict for duel in found] == [
        "even",
        "loses",
    ]  # 3 points against a spread of 4; -1.5 against 1
    assert Duel(50, (0.05, 0.04)).verdict == "wins"
    assert Duel(50, (0.05,)).verdict == "one"
    assert Duel(50, (0.0, 0.0)).verdict == "even"
    assert compute_duels(ROWS, augmented=False) == []


def test_all_sets_are_counted_by_size() -> None:
    by_set = {
        "Digits": [Duel(50, (0.05, 0.04)), Duel(100, (-0.05, -0.04)), Duel(200, (-0.05, 0.04))],
        "MNIST": [Duel(250, (0.05, 0.04)), Duel(1000, (0.01,))],
        "CIFAR-10": [],
    }
    text = describe_tally(by_set, augmented=True)
    assert re.findall(r"\d+(?: \([^)]*\))?", text) == [
        "5",
        "2 (Digits 50; MNIST 250)",
        "1 (Digits 100)",
        "1",
        "1",
    ]
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
