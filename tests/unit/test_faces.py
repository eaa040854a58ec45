"""Nets that learn faces: what a cell says, and what is stored of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from vitviz.data.faces import ARRANGEMENTS, TEST, faces_dataset
from vitviz.experiments import faces
from vitviz.experiments.result_file import read_result


class Bright(nn.Module):
    """Calls an image a face where its middle is brighter than the middle of all greys."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        middle = x[:, 0, 8:16, 8:16].mean(dim=(1, 2))
        return torch.stack([-middle, middle], dim=1)


def test_faces_are_counted_by_arrangement() -> None:
    data = faces_dataset()
    found = faces.called_faces(Bright(), data)
    middles = data.test_images[:, 8:16, 8:16, 0].reshape(len(data.test_images), -1).mean(axis=1) > 127.5
    assert found["of"] == TEST
    assert found["faces"]["background"] == int(middles[:TEST].sum())
    assert found["faces"]["whole"] == found["faces"]["turned"] == int(middles[TEST:].sum())  # the same middle
    assert found["faces"].keys() == {*ARRANGEMENTS, "background"}


def test_a_small_one_is_made_again_exactly(tmp_path: Path) -> None:
    measure = partial(faces.measure, replace(faces.TRAIN, epochs=2))
    threads = torch.get_num_threads()
    first, again = (measure({"model": "vit", "seed": 1}, tmp_path) for _ in range(2))
    torch.set_num_threads(threads)
    assert first["test"] == again["test"] and first["faces"] == again["faces"]
    assert all(0 <= count <= first["of"] for count in first["faces"].values())


def test_the_stored_accuracy_is_that_of_the_stored_counts() -> None:
    for row in read_result(faces.NAME).rows:
        right = row["faces"]["whole"] + row["of"] - row["faces"]["background"]
        assert row["test"] == pytest.approx(right / (2 * row["of"]), abs=1e-4)
