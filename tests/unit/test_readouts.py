"""Test the experiment of three readouts: what is trained, what is swapped, and what is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vitviz.experiments import readouts
from vitviz.experiments.result_file import read_result, unpack_correct


def test_a_swapped_head_is_the_one_of_the_training_with_cls(tmp_path: Path) -> None:
    """After a few updates every readout is near chance, but the swapped ones share their weights: one training."""
    readouts._train.cache_clear()
    for name in ("cls", *readouts.SWAPPED):
        row = readouts.measure({"readout": name, "seed": 0}, tmp_path, epochs=0.1)
        assert unpack_correct(row["right"]).mean() == pytest.approx(row["test"], abs=1e-4)
        assert ("map" in row) == (name == "cls")
    assert readouts._train.cache_info().misses == 1


def test_each_readout_has_one_map() -> None:
    maps = {
        row["readout"]: np.array(row["map"]) for row in read_result("readouts_digits").rows if "map" in row
    }
    assert [*maps] == [*readouts.READOUTS]
    for weights in maps.values():
        assert len(weights) == 64 and weights.min() >= 0 and 0.5 < weights.sum() < 1.001


def test_the_drawn_digit_is_classified_correctly_by_each_drawn_model() -> None:
    for row in read_result("readouts_digits").where(seed=readouts.MAP_SEED):
        if row["readout"] in readouts.READOUTS:
            assert unpack_correct(row["right"])[readouts.MAP_IMAGE]
