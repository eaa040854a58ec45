"""The stored experiment of ways to fine-tune: what each way changes, and one small cell of each, twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pages.studies.study import list_studies
from vitviz.experiment import EXPERIMENTS
from vitviz.experiments import tuning_methods
from vitviz.experiments.tuning_methods import WAYS, method_of


def test_each_way_changes_one_thing() -> None:
    usual = method_of(tuning_methods.USUAL, "mnist_vit")
    assert usual.learning_rate == 3e-4 and usual.head_learning_rate == 1e-3 and usual.layer_decay == 1
    changed = {way: method_of(way, "mnist_vit") for way in WAYS}
    assert changed["one_rate"] == replace(usual, learning_rate=usual.head_learning_rate)
    assert changed["lesson"] == replace(usual, learning_rate=1e-5)
    assert changed["layers"] == replace(usual, layer_decay=0.7)
    assert changed["frozen"] == replace(usual, body="head", head_learning_rate=0.03)
    assert changed["larger"] == replace(usual, image_size=40)
    assert method_of("larger", "cifar10_vit").image_size == 48
    notes = list_studies()["tuning_methods"].views[0].notes
    assert all(
        f"the backbone at {changed[way].learning_rate:f}".rstrip("0") in notes
        for way in ("two_rates", "lesson")
    )


@pytest.mark.slow  # trains each way twice
def test_one_cell_of_each_way_is_measured_and_twice_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = replace(tuning_methods.PLAN.method, updates=4, batch_size=16)
    monkeypatch.setattr(tuning_methods, "PLAN", replace(tuning_methods.PLAN, method=method))
    made = EXPERIMENTS[tuning_methods.NAME]()
    cells = [c for c in made.cells if (c["source"], c["a_class"], c["seed"]) == ("mnist_vit", 5, 1)]
    assert [cell["way"] for cell in cells] == list(WAYS)
    found = {cell["way"]: made.measure(cell, tmp_path) for cell in cells}
    again = made.measure(cells[0], tmp_path)
    assert found[cells[0]["way"]]["test"] == again["test"]
    assert [points[0] for points in found["layers"]["curve"]] == [1, 2, 3, 4]
    # 49 + 1 learned positions of 64 numbers become 100 + 1.
    assert found["larger"]["parameters"] - found["two_rates"]["parameters"] == (101 - 50) * 64
    assert len({row["test"] for row in found.values()}) > 3  # the ways do differ
