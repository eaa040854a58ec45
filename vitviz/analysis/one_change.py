"""One change of a model or its recipe: what it costs or brings, over seeds, and what may be said of it."""

from __future__ import annotations

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
        name: what it is known by.
        title: what it is called.
        curve: (2, n) epochs and mean validation accuracy.
        test: by seed the accuracy on the test images; a training that diverged, or has not ended, has none.
        seconds: of training, one a seed.
        parameters: of the model.
        diverged: how many trainings did.
    """

    name: str
    title: str
    curve: FloatArray
    test: Mapping[int, float]
    seconds: tuple[float, ...]
    parameters: int
    diverged: int = 0

    @property
    def mean(self) -> float:
        """Mean test accuracy; raises statistics.StatisticsError where no seed has one."""
        return mean(self.test.values())

    @property
    def told(self) -> str:
        """Accuracy, time and size in a few words; empty before there is any."""
        parts = []
        if self.test:
            parts.append(percent(self.mean))
        if self.diverged:
            parts.append(f"{self.diverged} diverged")
        if parts and self.seconds:
            parts.append(f"{mean(self.seconds):.1f}\N{NO-BREAK SPACE}s")
        return " · ".join([*parts, f"{self.parameters:,} parameters"] if parts else parts)


def variant(name: str, title: str, rows: Sequence[Row], epochs: float) -> Variant:
    """Return one variant from its stored rows, one a seed.

    Args:
        name, title: its own.
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
        """True if every seed says the same; one whose difference is written as 0.0 says nothing."""
        written = [round(point, 1) for point in self.points]
        return len(written) > 1 and (min(written) > 0 or max(written) < 0)

    @property
    def said(self) -> str:
        """'−3.1 points (−4.2 to −2.0 over 3 seeds)'."""
        if len(self.points) == 1:
            return f"{_points(self.mean)} (one seed)"
        span = f"{signed(min(self.points), 1)} to {signed(max(self.points), 1)}"
        return f"{_points(self.mean)} ({span} over {plural(len(self.points), 'seed')})"

    @property
    def sure(self) -> str:
        """True if the seeds agree, in words; nothing can be said of one."""
        if len(self.points) == 1:
            return "and another seed may say otherwise"
        if not any(self.points):
            return "the same in every seed"
        return "every seed the same way" if self.clear else "the seeds do not agree"


def gain(changed: Variant, base: Variant) -> Gain | None:
    """Return what a change brings (or, below zero, costs), paired by seed; None where no seed has both."""
    seeds = sorted(changed.test.keys() & base.test.keys())
    return Gain(tuple(100 * (changed.test[seed] - base.test[seed]) for seed in seeds)) if seeds else None


def describe_slip(slipped: Variant, mended: Variant) -> str:
    """Return what a bug costs, and whether the seeds agree."""
    found = gain(slipped, mended)
    broken = "".join(
        f" {plural(side.diverged, 'training')} {how} it diverged."
        for side, how in ((slipped, "with"), (mended, "without"))
        if side.diverged
    )
    if found is None:
        return broken.strip() or "Nothing was measured to its end yet."
    pairs = [(mended.test[seed], slipped.test[seed]) for seed in mended.test.keys() & slipped.test.keys()]
    without, with_it = (mean(side) for side in zip(*pairs, strict=True))
    ends = f"{percent(without)} without it, {percent(with_it)} with it"
    if not any(found.points):
        return f"It changes nothing: {ends}; {found.said}, {found.sure}.{broken}"
    if not found.clear and len(found.points) > 1:
        return f"The seeds do not agree that it matters: {ends}; {found.said}.{broken}"
    verb = "costs" if found.mean < 0 else "brings, against what one would think,"
    return f"It {verb} {abs(found.mean):.1f} points: {ends}; {found.said}, {found.sure}.{broken}"


def describe_knob(found: Sequence[Variant], base: str) -> str:
    """Return the best and the worst value, and how both lie to the base's own, or to each other where that is missing.

    Args:
        found: in the order of the values.
        base: the name of the base's own value.
    """
    ended = [one for one in found if one.test]
    broken = [one.title for one in found if one.diverged]
    diverged = f"Diverged: {', '.join(broken)}." if broken else ""
    if len(ended) < 2:
        return diverged
    best, worst = (_level(ended, pick(one.mean for one in ended)) for pick in (max, min))
    if len(best) == len(ended):
        return f"All {len(ended)} come to {percent(best[0].mean)}. {diverged}".rstrip()
    said = f"Best of {len(ended)}: {_name_level(best)}; last: {_name_level(worst)}."
    own = next((one for one in ended if one.name == base), worst[0])
    for one in (*best, *worst):
        step = None if one is own else gain(one, own)
        if step is not None:
            said += f" {_capital(one.title)} against {own.title}: {step.said}, {step.sure}."
    return f"{said} {diverged}".rstrip()


def _level(ended: Sequence[Variant], reached: float) -> list[Variant]:
    """Return all whose mean is this one: several may be level."""
    return [one for one in ended if one.mean == reached]


def _name_level(level: Sequence[Variant]) -> str:
    return f"{' and '.join(one.title for one in level)} with {percent(level[0].mean)}"


def _points(value: float) -> str:
    return f"{gained(value)} points"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
