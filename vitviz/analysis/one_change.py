"""Measure the effect of one change of a model or its recipe, over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import measure_interval
from vitviz.experiments.result_file import unpack_correct
from vitviz.text import percent

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
MANY = 10**9  # images, whose part of an interval is 0
CURVE_POINTS = 3  # of [updates, core-seconds, accuracy]


@dataclass(frozen=True, eq=False)
class Variant:
    """One value of a hyperparameter, or a model with or without a bug, over its seeds.

    Attributes:
        curve: (2, n) epochs and mean validation accuracy.
        band: (2, n) ends of the curve's 95 % interval over seeds; empty with one seed.
        test: test accuracy by seed; a training that diverged or has not finished has none.
        right: which test images are classified correctly, by seed.
        images: of the test set.
        seconds: of training, one a seed.
    """

    name: str
    title: str
    curve: FloatArray
    test: Mapping[int, float]
    seconds: tuple[float, ...]
    parameters: int
    images: int
    right: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    diverged: int = 0
    family: str = "vit"
    band: FloatArray = field(default_factory=lambda: np.empty((2, 0)))

    def without_results(self) -> Self:
        """Return the same variant before its training."""
        bare: dict[str, Any] = {"curve": np.empty((2, 0)), "band": np.empty((2, 0)), "test": {}, "right": {}}
        return replace(self, **bare, seconds=(), diverged=0)

    @property
    def mean(self) -> float:
        """Mean test accuracy; raises statistics.StatisticsError where no seed has one."""
        return mean(self.test.values())

    @property
    def summary(self) -> str:
        """Accuracy, time and parameter count in short; empty before there is a result."""
        parts = []
        if self.test:
            parts.append(percent(self.mean))
        if self.diverged:
            parts.append(f"{self.diverged} diverged")
        if parts and self.seconds:
            parts.append(f"{mean(self.seconds):.1f}\N{NO-BREAK SPACE}s")
        return " · ".join([*parts, f"{self.parameters:,} parameters"] if parts else parts)


def create_variant(name: str, title: str, rows: Sequence[Row], epochs: float, images: int) -> Variant:
    """Return one variant from its stored rows, one a seed.

    Args:
        rows: each with 'seed', 'parameters', and 'test', 'training_core_s' and 'curve', or 'diverged'.
        epochs: of every training.
        images: of the test set.
    """
    whole = [np.array(row["curve"], np.float64).reshape(-1, CURVE_POINTS) for row in rows if "test" in row]
    curve = band = np.empty((2, 0))
    if len(whole) > 1:
        band = np.array([measure_interval(seeds, MANY) for seeds in np.array(whole)[:, :, 2].T]).T
    if whole:
        updates = whole[0][:, 0]
        curve = np.stack(
            [epochs * updates / updates[-1], np.mean([points[:, 2] for points in whole], axis=0)]
        )
    return Variant(
        name=name,
        title=title,
        curve=curve,
        band=band,
        test={int(row["seed"]): float(row["test"]) for row in rows if "test" in row},
        seconds=tuple(float(row["training_core_s"]) for row in rows if "training_core_s" in row),
        parameters=int(rows[0]["parameters"]) if rows else 0,
        images=images,
        right={int(row["seed"]): unpack_correct(row["right"]) for row in rows if "right" in row},
        diverged=sum("diverged" in row for row in rows),
    )
