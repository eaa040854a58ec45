"""Compare accuracies over the number of training images: means and spreads over seeds, and the leading models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import Verdict, compare_rows, find_leaders, measure_interval

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
LONG_S = 30  # from so many seconds on whole ones are said
Lines = Mapping[
    str, tuple[str, FloatArray]
]  # by model its title and (4, n): core-seconds, accuracy and its interval


@dataclass(frozen=True, eq=False)
class Curve:
    """One model over the sizes: (n,) numbers of images, ascending, mean accuracies and the ends of their intervals."""

    name: str
    title: str
    pictures: NDArray[np.int64]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    seeds: NDArray[np.int64]
    rows: tuple[tuple[Row, ...], ...] = ()  # behind each point

    def find_size(self, image_count: int) -> int | None:
        """Return the index of a size; None where it was not measured."""
        matches = np.flatnonzero(self.pictures == image_count)
        return int(matches[0]) if len(matches) else None


@dataclass(frozen=True)
class Lead:
    """One model above another at one size."""

    pictures: int
    first: Curve
    second: Curve

    @property
    def margin(self) -> float:
        """Difference of the two means."""
        return _mean(self.first, self.pictures) - _mean(self.second, self.pictures)

    @property
    def verdict(self) -> Verdict | None:
        """The first model compared with the second; None if no seed has both."""
        groups = [curve.rows[_find_size(curve, self.pictures)] for curve in (self.first, self.second)]
        return compare_rows(groups[0], groups[1])

    @property
    def certainty(self) -> str:
        """Certainty of the lead in words, to follow a number."""
        verdict = self.verdict
        return "no seed in common" if verdict is None else verdict.certainty


def group_curves(
    rows: Sequence[Row], titles: Mapping[str, str], augmented: bool, key: str = "test"
) -> list[Curve]:
    """Return the means, lowest and highest over the seeds, by model in the order of `titles`.

    Args:
        rows: each with 'model', 'images', 'augmented', 'seed' and `key`; one that diverged has no `key`.
        key: the accuracy that is read, in [0, 1].
    """
    half = [row for row in rows if row["augmented"] == augmented]
    return group_by_size(half, titles, "model", "pictures", key)


def group_by_size(
    rows: Sequence[Row], titles: Mapping[str, str], name: str, size: str, key: str = "test"
) -> list[Curve]:
    """Return a curve of `key` over the number in the field `size` for every value of the field `name`."""
    curves = []
    for variant, title in titles.items():
        by_size: dict[int, list[Row]] = {}
        for row in rows:
            if row[name] == variant and key in row:
                by_size.setdefault(int(row[size]), []).append(row)
        if by_size:
            values = {count: [float(row[key]) for row in group] for count, group in by_size.items()}
            groups = tuple(tuple(by_size[count]) for count in sorted(by_size))
            curves.append(replace(create_curve(variant, title, values), rows=groups))
    return curves


def create_curve(name: str, title: str, by_size: Mapping[int, Sequence[float]]) -> Curve:
    """Return the values of every size as a mean with its lowest and highest."""
    sizes = sorted(by_size)
    groups = [np.array(by_size[size]) for size in sizes]
    return Curve(
        name=name,
        title=title,
        pictures=np.array(sizes),
        mean=np.array([group.mean() for group in groups]),
        low=np.array([group.min() for group in groups]),
        high=np.array([group.max() for group in groups]),
        seeds=np.array([len(group) for group in groups]),
    )


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


def find_curve_leaders(curves: Sequence[Curve], size: int) -> tuple[str, ...]:
    """Return the names that are not shown to be lower than the highest mean at one size, see `find_leaders`."""
    sides = {
        curve.name: {int(row["seed"]): float(row["test"]) for row in curve.rows[place]}
        for curve in curves
        if (place := curve.find_size(size)) is not None
    }
    counts = [row.get("test_images", 0) for curve in curves for group in curve.rows for row in group]
    return find_leaders(sides, images=min(map(int, counts), default=0))


def find_leads(curves: Sequence[Curve]) -> list[Lead]:
    """Return the two best models at every size with at least two models."""
    sizes = sorted({int(size) for curve in curves for size in curve.pictures})
    out = []
    for size in sizes:
        there = [curve for curve in curves if curve.find_size(size) is not None]
        if len(there) > 1:
            first, second = sorted(there, key=lambda curve: -_mean(curve, size))[:2]
            out.append(Lead(size, first, second))
    return out


def _find_size(curve: Curve, size: int) -> int:
    place = curve.find_size(size)
    if place is None:
        raise ValueError(f"{curve.title} was not measured with {size} images")
    return place


def _mean(curve: Curve, size: int) -> float:
    return float(curve.mean[_find_size(curve, size)])


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
