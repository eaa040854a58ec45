"""Gains from a teacher, computed by hand, and the recipes of the distillation experiment."""

import pytest

from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, LESSONS, SEEDS, SIZES, experiment, recipe


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
        assert len(experiment(dataset).cells) == len(SEEDS[dataset]) * len(sizes) * len(GIVEN[dataset])
