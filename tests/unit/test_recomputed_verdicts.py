"""Recompute the verdicts of stored experiments with numpy alone: none is stronger than its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verdicts import holm, recompute
from vitviz.analysis.verdict import Verdict, compare_family, compare_rows
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.conv_attention import MODELS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, SIZES
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import TEST_IMAGES, read_result
from vitviz.lessons.experiment_measures import select_bug_rows, select_hyperparameter_rows

Family = list[tuple[list, list, int]]  # of (rows, rows that they are compared with, test images)


def families() -> dict[str, Family]:
    """Return the comparisons of every figure of the experiments."""
    found: dict[str, Family] = {}
    stored = read_result("one_knob_digits")
    for name, knob in HYPERPARAMETERS.items():
        rows = select_hyperparameter_rows(stored, name)
        base = rows.pop(knob.base(BASES["digits"]), [])
        if knob.stored and base:
            found[f"hyperparameter {name}"] = [(own, base, 359) for own in rows.values()]
    for dataset in ("digits", "shapes"):
        stored = read_result(f"one_slip_{dataset}")
        for name, bug in BUGS.items():
            own, fixed = (select_bug_rows(stored, side) for side in (name, f"{FIXED}:{bug.family}"))
            if own and fixed:
                found[f"bug {name} {dataset}"] = [(own, fixed, TEST_IMAGES[dataset])]
    stored = read_result("conv_attention")
    control = stored.where(model="control")
    found["attention over convolutions"] = [
        (stored.where(model=name), control, 10_000) for name in MODELS if name != "control"
    ]
    for dataset, sizes in SIZES.items():
        stored = read_result(f"teaching_{dataset}")
        for size in sizes:
            lessons = [stored.where(lesson=lesson, pictures=size) for lesson in GIVEN[dataset]]
            pairs = [(rows, lessons[0], TEST_IMAGES[dataset]) for rows in lessons[1:]]
            found[f"methods of distillation {dataset} {size}"] = pairs
    for dataset, grid in GRIDS.items():
        stored = read_result(f"data_size_{dataset}")
        found[f"teacher {dataset}"] = [
            (
                stored.where(model="deit", augmented=True, pictures=size),
                stored.where(model="vit", augmented=True, pictures=size),
                TEST_IMAGES[dataset],
            )
            for size in grid.sizes
        ]
    return found


@pytest.mark.parametrize("name", families())
def test_no_verdict_is_stronger_than_its_numbers(name: str) -> None:
    pairs = [pair for pair in families()[name] if recompute(*pair)]
    verdicts = [compare_rows(first, second) for first, second, _ in pairs]
    found: list[Verdict] = compare_family([verdict for verdict in verdicts if verdict])
    for verdict, outcome, pair in zip(found, holm(pairs), pairs, strict=True):
        alone = recompute(*pair)
        assert alone is not None and verdict.estimate == pytest.approx(alone[0], abs=1e-6)
        assert (verdict.outcome or outcome) == outcome, "a verdict that is withheld claims nothing"
        if verdict.low is not None and verdict.high is not None:
            assert verdict.high - verdict.low >= alone[2] - alone[1] - 1e-3
    assert all(np.isfinite([verdict.estimate for verdict in found]))


def test_more_than_thirty_are_recomputed() -> None:
    assert sum(map(len, families().values())) > 30
