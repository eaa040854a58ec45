"""Compare accuracies over the number of training images, and over the time of training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import measure_interval

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
Lines = Mapping[
    str, tuple[str, FloatArray]
]  # by model its title and (4, n): core-seconds, accuracy and its interval


@dataclass(frozen=True, eq=False)
class Curve:
    """One model over the sizes: (n,) numbers of images, ascending, mean accuracies and the ends of their intervals."""

    name: str
    title: str
    images: NDArray[np.int64]
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def select_one_machine(rows: Sequence[Row], machine_of: Callable[[Row], str]) -> list[Row]:
    """Return the rows of one machine, the one with most models and sizes: seconds of two are not comparable."""
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(machine_of(row), []).append(row)

    def count_points(machine_rows: list[Row]) -> tuple[int, int]:
        return len({(row["model"], row["pictures"]) for row in machine_rows}), len(machine_rows)

    return max(by_machine.values(), key=count_points, default=[])


def add_equal_time_accuracy(rows: Sequence[Row]) -> list[Row]:
    """Add 'timed' to each row: validation accuracy after the core-seconds of the fastest model of its size.

    It is interpolated linearly in the row's curve of [updates, core-seconds, accuracy].
    """
    budget: dict[tuple[int, bool], float] = {}
    for row in rows:
        if "training_core_s" in row:
            at = int(row["pictures"]), bool(row["augmented"])
            budget[at] = min(budget.get(at, np.inf), float(row["training_core_s"]))
    out: list[Row] = []
    for row in rows:
        if "training_core_s" in row and row["curve"]:
            _, seconds, accuracy = np.array(row["curve"], np.float64).T
            within = budget[int(row["pictures"]), bool(row["augmented"])]
            out.append({**row, "timed": float(np.interp(within, seconds, accuracy)), "budget_s": within})
    return out


def compute_mean_lines(rows: Sequence[Row], titles: Mapping[str, str], images: int) -> Lines:
    """Return the seed means at equal updates, see `Lines`.

    Args:
        rows: of one size, each with its 'curve' of [updates, core-seconds, accuracy].
        images: of validation.
    """
    lines = {}
    for name, title in titles.items():
        curves = [np.array(row["curve"], np.float64) for row in rows if row["model"] == name]
        complete = [curve for curve in curves if len(curve) == max(map(len, curves))]
        if complete:
            points = np.array(complete)
            ends = [measure_interval(seeds, images) for seeds in points[:, :, 2].T]
            lines[name] = title, np.hstack([points.mean(axis=0)[:, 1:], ends]).T
    return lines
