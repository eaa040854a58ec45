"""Recompute the verdicts of stored experiments with numpy alone: none is stronger than its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.verdicts import holm, recompute
from vitviz.analysis.study_numbers import ALL, create_numbers
from vitviz.analysis.verdict import Verdict, compare_family
from vitviz.experiments.bugs import BUGS
from vitviz.experiments.conv_attention import MODELS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, SIZES
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import TEST_IMAGES, Result, Row, read_result
from vitviz.lessons.experiment_measures import read_bug, read_hyperparameter

NO_FILE = Result("", "", "", {}, (), ())
Family = list[
    tuple[Sequence[Row], Sequence[Row], int]
]  # of (rows, rows that they are compared with, test images)


def families() -> dict[str, Family]:
    """Return the comparisons of every figure of the experiments."""
    found: dict[str, Family] = {}
    for name, hyperparameter in HYPERPARAMETERS.items():
        if hyperparameter.stored:
            rows = dict(read_hyperparameter(name).rows)
            base = rows.pop(f"{hyperparameter.base(BASES['digits'])}")
            found[f"hyperparameter {name}"] = [(own, base, 359) for own in rows.values()]
    for dataset in ("digits", "shapes"):
        for name in BUGS:
            rows = read_bug(name, dataset).rows
            found[f"bug {name} {dataset}"] = [(rows["with_bug"], rows["fixed"], TEST_IMAGES[dataset])]
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


def compare(first: Sequence[Row], second: Sequence[Row], images: int) -> Verdict:
    """Return the verdict as studies compute it."""
    rows = {"first": first, "second": second}
    titles = dict.fromkeys(rows, "")
    numbers = create_numbers(titles, rows, [(NO_FILE, [])], images=images, chance=None)
    return numbers.compare("first", "second", ALL)


def test_thirty_verdicts_are_recomputed() -> None:
    assert sum(map(len, families().values())) >= 30


@pytest.mark.parametrize("name", families())
def test_no_verdict_is_stronger_than_its_numbers(name: str) -> None:
    pairs = families()[name]
    found = compare_family([compare(*pair) for pair in pairs])
    for verdict, outcome, pair in zip(found, holm(pairs), pairs, strict=True):
        alone = recompute(*pair)
        assert alone is not None and verdict.estimate == pytest.approx(alone[0], abs=1e-6)
        assert (verdict.outcome or outcome) == outcome, "a verdict that is withheld claims nothing"
        if verdict.low is not None and verdict.high is not None:
            assert verdict.high - verdict.low >= alone[2] - alone[1] - 1e-3
    assert all(np.isfinite([verdict.estimate for verdict in found]))
