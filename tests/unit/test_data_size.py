"""Accuracy over training images: means, spreads, sentences and the recipes of the grid."""

from dataclasses import replace

import pytest

from vitviz.analysis.data_size import add_equal_time_accuracy
from vitviz.analysis.distillation import ANSWERS
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import load_dataset
from vitviz.experiments.data_size import EVEN_UP_TO, GRIDS, RACERS, TITLES, race
from vitviz.plots.data_size import COLOURS, SYMBOLS
from vitviz.training.batches import SPLIT_SEED, prepare_training_data, validation_split


def row(
    model: str, images: int, seed: int, test: float, augmented: bool = True, **more: object
) -> dict[str, object]:
    cell = {"model": model, "pictures": images, "seed": seed, "augmented": augmented}
    return {**cell, "test": test, **more}


def test_equal_time_reads_every_curve_when_the_quickest_was_done() -> None:
    quick = row("vit", 50, 0, 0.5, training_core_s=10.0, curve=[[1, 5.0, 0.2], [2, 10.0, 0.4]])
    slow = row("cnn", 50, 0, 0.8, training_core_s=40.0, curve=[[1, 0.0, 0.0], [2, 20.0, 0.6], [3, 40.0, 0.8]])
    found = {r["model"]: r for r in add_equal_time_accuracy([quick, slow])}
    assert found["vit"]["timed"] == pytest.approx(0.4)
    assert found["cnn"]["timed"] == pytest.approx(0.3)  # half way to 20 s
    assert {r["budget_s"] for r in found.values()} == {10.0}


@pytest.mark.parametrize("name", GRIDS)
def test_every_cell_of_a_grid_makes_its_updates(name: str) -> None:
    grid = GRIDS[name]
    for images in grid.sizes:
        train = grid.trained_on(images, seed=1)
        updates = -(-round((train.epochs or 0) * images) // train.batch_size)
        assert updates == grid.updates, images
        assert train.batch_size <= images
        assert grid.size_of(train) == images and grid.size_of(replace(train, learning_rate=1.0)) is None
        plain = grid.trained_on(images, augmented=False)
        assert (plain.flip, plain.shift_px) == (False, 0)
    assert grid.trained_on(grid.sizes[0]).shift_px > 0


def test_a_grid_knows_its_images() -> None:
    grid = GRIDS["digits"]
    kept, held_out = validation_split(load_dataset("digits"), grid.train.validation_fraction, SPLIT_SEED)
    assert (len(kept), len(held_out)) == (grid.sizes[-1], grid.held_out)


def test_a_race_is_trained_as_the_stored_points_were() -> None:
    config = race("digits", 100, seed=1, augmented=False)
    assert [member.name for member in config.members] == list(RACERS)
    grid = GRIDS["digits"]
    assert config.train == grid.trained_on(100, 1, False)
    assert all(member.model == grid.models[member.name] for member in config.members)
    with pytest.raises(ValueError, match="no grid"):
        race("digits", 99)
    with pytest.raises(ValueError, match="no grid"):
        race("imagenet", 50)


def test_no_model_is_told_by_its_colour_alone() -> None:
    patches = {"patch_4", "patch_8"}
    for names in (TITLES.keys(), patches, ANSWERS.keys()):  # of one figure
        assert len({COLOURS[name] for name in names}) == len({SYMBOLS[name] for name in names}) == len(names)
    assert COLOURS.keys() == SYMBOLS.keys() == TITLES.keys() | patches | ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_every_size_has_its_images_the_small_ones_as_many_of_every_class(name: str) -> None:
    try:
        dataset = load_dataset(name)
    except DatasetError:
        pytest.skip(f"{name} is not on this machine")
    grid, before = GRIDS[name], 0
    for size in grid.sizes:
        found = prepare_training_data(dataset, grid.preparation, grid.trained_on(size)).train.labels.bincount(
            minlength=10
        )
        assert int(found.sum()) == size
        assert int(found.min()) >= before, "a larger size has no fewer of any class"
        assert len(set(found.tolist())) == 1 or size > EVEN_UP_TO
        before = int(found.min())
