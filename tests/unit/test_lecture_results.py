"""What the lectures printed stands behind their recipes as they are written, and behind nothing else."""

from dataclasses import replace

import pytest
import torch

from vitviz.config import ViTConfig
from vitviz.experiments import position_errors
from vitviz.experiments.lecture_results import PRINTED, find_printed_line
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.run_config import RunConfig


def as_written(name: str) -> RunConfig:
    preset = TRAINING_PRESETS[name]
    return RunConfig(preset.model, preset.preparation, preset.train, preset.title, name)


def test_the_lectures_printed_twenty_accuracies_and_seven_losses() -> None:
    losses, accuracies = PRINTED["recipe_a"], PRINTED["recipe_d"]
    assert (losses.metric, len(losses.values)) == ("loss", 7)
    assert (losses.values[0], losses.values[-1]) == (2.0053, 1.5660)
    assert (accuracies.metric, len(accuracies.values)) == ("accuracy", 20)
    assert (accuracies.values[0], accuracies.values[-1]) == pytest.approx((0.4776, 0.8835))


@pytest.mark.parametrize("name", PRINTED)
def test_a_recipe_that_was_changed_has_no_printed_line(name: str) -> None:
    """Its name stayed, and with it a line of another training."""
    config = as_written(name)
    assert find_printed_line(config) is PRINTED[name]
    shorter = replace(config, train=replace(config.train, epochs=1.0, seed=5, threads=1))
    assert find_printed_line(shorter) is PRINTED[name]
    assert find_printed_line(replace(config, preset=None)) is None
    assert find_printed_line(replace(config, train=replace(config.train, learning_rate=0.3))) is None
    assert find_printed_line(replace(config, model=replace(config.model, depth=1))) is None  # type: ignore[call-arg]


def test_a_recipe_of_which_nothing_was_printed_has_none() -> None:
    assert find_printed_line(as_written("recipe_c")) is None


def test_a_wrong_table_replaces_the_learned_one_and_is_not_trained() -> None:
    setup = position_errors.configure({"positions": "row", "epochs": 2.0, "seed": 3})
    table = setup.start["pos_embed"][0]
    assert table.shape == (16, 64) and torch.equal(table[0], table[3]) and not torch.equal(table[0], table[4])
    assert setup.train.frozen == ("pos_embed",) and setup.train.epochs == 2.0
    none = position_errors.configure({"positions": "none", "epochs": 2.0, "seed": 3})
    assert isinstance(none.model, ViTConfig) and none.model.positions == "none" and none.start is None


@pytest.mark.parametrize("name", position_errors.ERRORS)
def test_every_table_has_a_row_for_each_patch(name: str) -> None:
    table = position_errors.ERRORS[name].table
    assert table is None or table(4, 5, 8).shape == (20, 8)
