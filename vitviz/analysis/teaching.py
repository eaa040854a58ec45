"""What a teacher is worth: a student less its twin, seed by seed, over the number of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vitviz.analysis.data_size import Curve, curve_of, differences
from vitviz.words import percent, plural, signed

Row = Mapping[str, Any]
# The student's answers: what a row of the data grid calls them.
ANSWERS = {
    "test": "Mean of the logits",
    "test_softmax_sum": "Sum of the softmaxes",
    "test_cls": "[CLS] alone",
    "test_dist": "[DIST] alone",
}


@dataclass(frozen=True)
class Lesson:
    """One way of teaching at one size: accuracies over the seeds, on validation and on test pictures."""

    name: str
    pictures: int
    validation: tuple[float, ...]
    test: tuple[float, ...]

    @property
    def chosen_by(self) -> float:
        """The mean on the validation pictures: what may choose."""
        return float(np.mean(self.validation))

    @property
    def reached(self) -> float:
        """The mean on the test pictures: what is reported."""
        return float(np.mean(self.test))


def worth(rows: Sequence[Row], augmented: bool) -> list[Curve]:
    """A student's accuracy less its twin's of the same seed, a curve for each of its `ANSWERS`.

    Args:
        rows: of the data grid.
        augmented: which half of it.
    """
    half = [row for row in rows if row["augmented"] == augmented]
    twins = [row for row in half if row["model"] == "vit"]
    students = [row for row in half if row["model"] == "deit"]
    found = {key: differences(students, twins, key) for key in ANSWERS}
    return [curve_of(key, ANSWERS[key], by_size) for key, by_size in found.items() if by_size]


def describe_worth(curve: Curve) -> str:
    """Where the student wins in every seed, where it loses in every one, and where seeds decide."""
    sizes = curve.pictures.tolist()
    wins = [size for size, low in zip(sizes, curve.low, strict=True) if low > 0]
    losses = [size for size, high in zip(sizes, curve.high, strict=True) if high < 0]
    rest = [size for size in sizes if size not in wins and size not in losses]
    best = int(curve.mean.argmax())
    said = [
        f"At best the teacher is worth {_points(curve.mean[best])} points, with"
        f" {plural(int(curve.pictures[best]), 'picture')}, at worst {_points(curve.mean.min())}, with"
        f" {int(curve.pictures[curve.mean.argmin()]):,}."
        if len(sizes) > 1
        else f"The teacher is worth {_points(curve.mean[0])} points, with {plural(sizes[0], 'picture')}."
    ]
    seeds = sorted({int(count) for count in curve.seeds})
    if seeds == [1]:
        return f"{said[0]} One seed each: another may say otherwise."
    for found, words in (
        (wins, "The student wins in every seed with"),
        (losses, "It loses in every seed with"),
    ):
        if found:
            said.append(f"{words} {_sizes(found)} pictures.")
    if rest:
        said.append(f"With {_sizes(rest)} the seeds do not agree: no difference that a seed could not make.")
    return " ".join(said)


def _points(share: float) -> str:
    text = signed(100 * share, 1)
    return f"+{text}" if float(text.replace("\N{MINUS SIGN}", "-")) > 0 else text


def _sizes(sizes: Sequence[int]) -> str:
    shown = [f"{size:,}" for size in sizes]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def lessons(rows: Sequence[Row]) -> list[Lesson]:
    """Rows of the teaching experiment by lesson and size, in the rows' order."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if "test" in row:
            found.setdefault((str(row["lesson"]), int(row["pictures"])), []).append(row)
    return [
        Lesson(
            name,
            pictures,
            tuple(float(row["validation"]) for row in own),
            tuple(float(row["test"]) for row in own),
        )
        for (name, pictures), own in found.items()
    ]


def describe_lessons(found: Sequence[Lesson], twin: str = "twin") -> str:
    """Which lesson the validation pictures choose at every size, and what it is worth on the test pictures."""
    said = []
    for pictures in sorted({lesson.pictures for lesson in found}):
        own = [lesson for lesson in found if lesson.pictures == pictures and lesson.name != twin]
        alone = next((one for one in found if one.pictures == pictures and one.name == twin), None)
        if not own or alone is None:
            continue
        best = max(own, key=lambda lesson: lesson.chosen_by)
        sure = "within the spread of the seeds"
        if min(best.test) > max(alone.test):
            sure = "every seed above every seed of the twin"
        elif max(best.test) < min(alone.test):
            sure = "every seed below every seed of the twin"
        if len(best.test) == len(alone.test) == 1:
            sure = "one seed each, so another may say otherwise"
        said.append(
            f"With {pictures:,} pictures the validation pictures choose '{best.name}': {percent(best.reached)} of the"
            f" test pictures against the twin's {percent(alone.reached)},"
            f" {_points(best.reached - alone.reached)} points,"
            f" {sure}."
        )
    return " ".join(said)
