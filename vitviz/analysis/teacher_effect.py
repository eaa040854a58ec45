"""Compute the gain from a teacher: student minus twin, seed by seed, over the number of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vitviz.analysis.data_size import Curve, curve_of, differences
from vitviz.text import gained, join_words, percent, percent_difference, plural

Row = Mapping[str, Any]
Verdict = Literal["wins", "loses", "even", "one"]
_TWIN = "twin"  # what learns without a teacher
SAID: dict[Verdict, str] = {
    "wins": "The student wins by more than its spread with {sizes} images.",
    "loses": "The student loses by more than its spread with {sizes} images.",
    "even": "With {sizes} images student and twin lie no further apart than the seeds.",
    "one": "With {sizes} images there is one seed, which has no spread.",
}
# The student's answers: what a row of the data grid calls them.
ANSWERS = {
    "test": "Mean of the logits",
    "test_softmax_sum": "Sum of the softmaxes",
    "test_cls": "[CLS] alone",
    "test_dist": "[DIST] alone",
}


@dataclass(frozen=True)
class Duel:
    """Student against twin with so many images, seed by seed: `gains` in [−1, 1], one for each seed of both."""

    pictures: int
    gains: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean gain from the teacher."""
        return float(np.mean(self.gains))

    @property
    def verdict(self) -> Verdict:
        """'wins' and 'loses' where the mean lies further from nothing than its seeds from each other.

        Then every seed says the same, too; 'even' where it does not, 'one' of one seed, which has no spread.
        """
        if len(self.gains) == 1:
            return "one"
        if abs(self.mean) <= max(self.gains) - min(self.gains):
            return "even"
        return "wins" if self.mean > 0 else "loses"


@dataclass(frozen=True)
class Lesson:
    """One way of teaching at one size: accuracies over the seeds, on validation and on test images."""

    name: str
    pictures: int
    validation: tuple[float, ...]
    test: tuple[float, ...]

    @property
    def chosen_by(self) -> float:
        """The mean on the validation images: what may choose."""
        return float(np.mean(self.validation))

    @property
    def reached(self) -> float:
        """The mean on the test images: what is reported."""
        return float(np.mean(self.test))


def worth(rows: Sequence[Row], augmented: bool) -> list[Curve]:
    """Return a student's accuracy less its twin's of the same seed, a curve for each of its `ANSWERS`.

    Args:
        rows: of the data grid.
        augmented: which half of it.
    """
    half = [row for row in rows if row["augmented"] == augmented]
    found = {key: differences(_rows_of(half, "deit"), _rows_of(half, "vit"), key) for key in ANSWERS}
    return [curve_of(key, ANSWERS[key], by_size) for key, by_size in found.items() if by_size]


def duels(rows: Sequence[Row], augmented: bool) -> list[Duel]:
    """Student against twin at every size that both were measured at; the student answers by its logits' mean.

    Args:
        rows: of the data grid.
        augmented: which half of it.
    """
    half = [row for row in rows if row["augmented"] == augmented]
    by_size = differences(_rows_of(half, "deit"), _rows_of(half, "vit"))
    return [Duel(pictures, tuple(by_size[pictures])) for pictures in sorted(by_size)]


def _rows_of(rows: Sequence[Row], model: str) -> list[Row]:
    return [row for row in rows if row["model"] == model]


def describe_duels(found: Sequence[Duel]) -> str:
    """Return what the teacher is worth at its best and worst, and at which sizes that is more than seeds differ."""
    if not found:
        return "No student has a twin of its seed yet."
    best, worst = max(found, key=lambda duel: duel.mean), min(found, key=lambda duel: duel.mean)
    said = (
        f"At best the teacher is worth {gained(100 * best.mean)} points, with {plural(best.pictures, 'picture')},"
        f" at worst {gained(100 * worst.mean)}, with {worst.pictures:,}."
        if len(found) > 1
        else f"The teacher is worth {gained(100 * best.mean)} points, with {plural(best.pictures, 'picture')}."
    )
    return f"{said} {verdicts(found)}"


def describe_guess(duel: Duel, guess: str) -> str:
    """Return True if a guess, of `Verdict`, was right: of one seed its sign alone can be judged."""
    sign = "wins" if duel.mean > 0 else "loses" if duel.mean < 0 else "even"
    right = guess == (sign if duel.verdict == "one" else duel.verdict)
    sure = {"one": "of one seed", "even": "within its spread"}.get(duel.verdict, "more than its spread")
    return f"{'right' if right else 'not so'}. Student less twin is {gained(100 * duel.mean)} points, {sure}."


def verdicts(found: Sequence[Duel]) -> str:
    """At which sizes the student wins, loses and does neither by more than its spread."""
    at = {verdict: [duel.pictures for duel in found if duel.verdict == verdict] for verdict in SAID}
    return " ".join(SAID[verdict].format(sizes=_sizes(sizes)) for verdict, sizes in at.items() if sizes)


def tally(by_set: Mapping[str, Sequence[Duel]], augmented: bool) -> str:
    """Over several sets: how many sizes the student wins and loses at by more than its spread, and which they are."""
    every = [duel.verdict for found in by_set.values() for duel in found]
    if not every:
        return "No student has a twin of its seed yet."
    half = "augmented" if augmented else "not augmented"
    one = f"; at {every.count('one')} there is one seed" if "one" in every else ""
    return (
        f"Of {plural(len(every), 'size')} of all sets, {half}, the student wins by more than its spread at"
        f" {_counted(by_set, 'wins')}, loses at {_counted(by_set, 'loses')}, and does neither at"
        f" {every.count('even') or 'none'}{one}."
    )


def _counted(by_set: Mapping[str, Sequence[Duel]], verdict: Verdict) -> str:
    """'3 (Digits 50; MNIST 250 and 1,000)': at how many sizes, and at which."""
    at = {
        title: [duel.pictures for duel in found if duel.verdict == verdict] for title, found in by_set.items()
    }
    where = "; ".join(f"{title} {_sizes(sizes)}" for title, sizes in at.items() if sizes)
    return f"{sum(map(len, at.values()))} ({where})" if where else "none"


def describe_answers(found: Sequence[Curve]) -> str:
    """Describe the accuracy of the student's single heads relative to the mean of its logits, over the sizes."""
    by_name = {curve.name: curve for curve in found}
    usual, told = by_name.get("test"), []
    for name, curve in by_name.items():
        sizes = (
            [] if usual is None else [size for size in curve.pictures.tolist() if usual.at(size) is not None]
        )
        if usual is None or curve is usual or not sizes:
            continue
        more = [float(curve.mean[curve.at(size)] - usual.mean[usual.at(size)]) for size in sizes]
        few, many = gained(100 * min(more)), gained(100 * max(more))
        told.append(
            f"{ANSWERS[name][0].lower() + ANSWERS[name][1:]} {few if few == many else f'{few} to {many}'}"
        )
    return f"Against the mean of the logits, in points: {'; '.join(told)}." if told else ""


def _sizes(sizes: Sequence[int]) -> str:
    return join_words([f"{size:,}" for size in sizes])


def lessons(rows: Sequence[Row]) -> list[Lesson]:
    """Return the rows of the teaching experiment by lesson and size, in the rows' order."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if "test" in row:
            found.setdefault((str(row["lesson"]), int(row["pictures"])), []).append(row)
    for own in found.values():
        own.sort(key=lambda row: int(row["seed"]))
    return [
        Lesson(
            name,
            pictures,
            tuple(float(row["validation"]) for row in own),
            tuple(float(row["test"]) for row in own),
        )
        for (name, pictures), own in found.items()
    ]


def describe_lessons(found: Sequence[Lesson]) -> str:
    """Return which lesson the validation images choose at every size, and what it is worth on the test images."""
    return " ".join(
        f"With {best.pictures:,} images the validation images choose '{best.name}': {percent(best.reached)} of the"
        f" test images against the twin's {percent(alone.reached)},"
        f" {gained(percent_difference(best.reached, alone.reached))} points, {_sure(best, alone)}."
        for best, alone in select_lessons(found)
    )


def select_lessons(found: Sequence[Lesson]) -> list[tuple[Lesson, Lesson]]:
    """At every size the lesson that the validation images choose, and the twin; sizes without either are left out."""
    pairs = []
    for images in sorted({lesson.pictures for lesson in found}):
        own = [lesson for lesson in found if lesson.pictures == images and lesson.name != _TWIN]
        alone = next((one for one in found if one.pictures == images and one.name == _TWIN), None)
        if own and alone is not None:
            pairs.append((max(own, key=lambda lesson: lesson.chosen_by), alone))
    return pairs


def duel_of(taught: Lesson, alone: Lesson) -> Duel | None:
    """Return a lesson against its twin, seed by seed; None where not every seed has one."""
    if len(taught.test) != len(alone.test):
        return None
    return Duel(taught.pictures, tuple(a - b for a, b in zip(taught.test, alone.test, strict=True)))


def _sure(taught: Lesson, alone: Lesson) -> str:
    """Describe whether a gain exceeds its spread over the seeds."""
    duel = duel_of(taught, alone)
    if duel is None:
        return "of which not every seed has a twin"
    if duel.verdict == "one":
        return "one seed each, so another may say otherwise"
    ends = f"{gained(100 * min(duel.gains))} to {gained(100 * max(duel.gains))} seed by seed"
    return f"{'within' if duel.verdict == 'even' else 'more than'} its spread ({ends})"
