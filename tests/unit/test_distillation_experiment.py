"""Test the recipes of the distillation experiment."""

import pytest

from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, LESSONS, SEEDS, SIZES, experiment, recipe


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
