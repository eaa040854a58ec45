"""Measure and describe the effect of one change of a model or its recipe, over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import gained, percent, plural, signed

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
CURVE_POINTS = 3  # of [updates, core-seconds, accuracy]


@dataclass(frozen=True, eq=False)
class Variant:
    """One value of a hyperparameter, or a model with or without a bug, over its seeds.

    Attributes:
        curve: (2, n) epochs and mean validation accuracy.
        test: test accuracy by seed; a training that diverged or has not finished has none.
        seconds: of training, one a seed.
    """

    name: str
    title: str
    curve: FloatArray
    test: Mapping[int, float]
    seconds: tuple[float, ...]
    parameters: int
    diverged: int = 0
    family: str = "vit"

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


def create_variant(name: str, title: str, rows: Sequence[Row], epochs: float) -> Variant:
    """Return one variant from its stored rows, one a seed.

    Args:
        rows: each with 'seed', 'parameters', and 'test', 'training_core_s' and 'curve', or 'diverged'.
        epochs: of every training.
    """
    whole = [np.array(row["curve"], np.float64).reshape(-1, CURVE_POINTS) for row in rows if "test" in row]
    curve = np.empty((2, 0))
    if whole:
        updates = whole[0][:, 0]
        curve = np.stack(
            [epochs * updates / updates[-1], np.mean([points[:, 2] for points in whole], axis=0)]
        )
    return Variant(
        name=name,
        title=title,
        curve=curve,
        test={int(row["seed"]): float(row["test"]) for row in rows if "test" in row},
        seconds=tuple(float(row["training_core_s"]) for row in rows if "training_core_s" in row),
        parameters=int(rows[0]["parameters"]) if rows else 0,
        diverged=sum("diverged" in row for row in rows),
    )


@dataclass(frozen=True)
class Gain:
    """The difference of two variants in percentage points of test accuracy, seed by seed."""

    points: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the seeds that both have."""
        return mean(self.points)

    @property
    def clear(self) -> bool:
        """True if all of several seeds have a difference of the same sign, rounded as it is written."""
        written = [round(point, 1) for point in self.points]
        return len(written) > 1 and (min(written) > 0 or max(written) < 0)

    @property
    def spread(self) -> str:
        """'−4.2 to −2.0 over 3 seeds'."""
        span = f"{signed(min(self.points), 1)} to {signed(max(self.points), 1)} over"
        return "one seed" if len(self.points) == 1 else f"{span} {plural(len(self.points), 'seed')}"

    @property
    def summary(self) -> str:
        """'−3.1 points (−4.2 to −2.0 over 3 seeds)'."""
        return f"{_format_points(self.mean)} ({self.spread})"

    @property
    def certainty(self) -> str:
        """Agreement of the seeds in words."""
        if len(self.points) == 1:
            return "not repeated with another seed"
        if not any(self.points):
            return "identical in every seed"
        return "consistent across seeds" if self.clear else "not consistent across seeds"


def compute_gain(changed: Variant, base: Variant) -> Gain | None:
    """Return the effect of a change, paired by seed; None if no seed has both."""
    seeds = sorted(changed.test.keys() & base.test.keys())
    return Gain(tuple(100 * (changed.test[seed] - base.test[seed]) for seed in seeds)) if seeds else None


def describe_bug(with_bug: Variant, without_bug: Variant) -> str:
    """Describe the cost of a bug in test accuracy, and the agreement of the seeds."""
    gain = compute_gain(with_bug, without_bug)
    diverged = "".join(
        f" {plural(variant.diverged, 'run')} {preposition} the bug diverged."
        for variant, preposition in ((with_bug, "with"), (without_bug, "without"))
        if variant.diverged
    )
    if gain is None:
        return diverged.strip() or "No run has finished."
    pairs = [
        (without_bug.test[seed], with_bug.test[seed])
        for seed in without_bug.test.keys() & with_bug.test.keys()
    ]
    without, with_it = (mean(side) for side in zip(*pairs, strict=True))
    ends = f"{percent(without, 2)} without it, {percent(with_it, 2)} with it"
    if not any(gain.points):
        return f"The bug makes no difference ({gain.spread}, {gain.certainty}): {ends}.{diverged}"
    if not gain.clear and len(gain.points) > 1:
        return f"The bug makes no consistent difference across seeds: {ends}; {gain.summary}.{diverged}"
    effect = "costs" if gain.mean < 0 else "unexpectedly adds"
    seeds = gain.spread if len(gain.points) == 1 else f"{gain.spread}, {gain.certainty}"
    return f"The bug {effect} {abs(gain.mean):.1f} points ({seeds}): {ends}.{diverged}"


def describe_hyperparameter(variants: Sequence[Variant], base: str) -> str:
    """Describe the best and the worst value, and their differences from the base value, or from each other without one.

    Args:
        variants: in the order of the values.
        base: the name of the base value.
    """
    finished = [variant for variant in variants if variant.test]
    diverged_titles = [variant.title for variant in variants if variant.diverged]
    diverged = f"Diverged: {', '.join(diverged_titles)}." if diverged_titles else ""
    if len(finished) < 2:
        return diverged
    ends = (pick(variant.mean for variant in finished) for pick in (max, min))
    best, worst = ([variant for variant in finished if variant.mean == end] for end in ends)
    if len(best) == len(finished):
        return f"All {len(finished)} values reach {percent(best[0].mean, 2)}. {diverged}".rstrip()
    text = f"Best of {len(finished)} options: {_name_level(best)}; worst: {_name_level(worst)}."
    reference = next((variant for variant in finished if variant.name == base), worst[0])
    for variant in (*best, *worst):
        gain = None if variant is reference else compute_gain(variant, reference)
        if gain is not None:
            text += f" '{variant.title}' compared with '{reference.title}': {gain.summary}, {gain.certainty}."
    return f"{text} {diverged}".rstrip()


def _name_level(level: Sequence[Variant]) -> str:
    titles = " and ".join(f"'{variant.title}'" for variant in level)
    return f"{titles} with {percent(level[0].mean, 2)}"


def _format_points(difference: float) -> str:
    return f"{gained(difference)} points"
