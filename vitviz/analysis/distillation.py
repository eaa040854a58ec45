"""Compute the gain from a teacher, seed by seed, and compare the two tokens and heads of a DeiT and its teacher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import softmax
from vitviz.analysis.data_size import Curve
from vitviz.analysis.verdict import Outcome, Verdict, compare_family, compare_rows
from vitviz.text import gained, join_words, plural

Row = Mapping[str, Any]
_TWIN = "twin"  # the same model trained without a teacher
NO_TWIN = "No student has a twin with the same seed."
# Ways to combine the two heads of the student, by the field of a stored row.
ANSWERS = {
    "test": "Mean of the logits",
    "test_softmax_sum": "Sum of the softmaxes",
    "test_cls": "[CLS] only",
    "test_dist": "[DIST] only",
}


@dataclass(frozen=True)
class Duel:
    """Student compared with its twin with so many images; the sizes of one experiment are one family."""

    pictures: int
    verdict: Verdict

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the verdict."""
        return self.verdict.outcome


@dataclass(frozen=True)
class Lesson:
    """One distillation recipe at one size: validation accuracies and rows, one a seed."""

    name: str
    pictures: int
    validation: tuple[float, ...]
    rows: tuple[Row, ...]

    @property
    def mean_validation(self) -> float:
        """Mean accuracy on the validation images, by which a recipe is selected."""
        return float(np.mean(self.validation))


def compute_duels(rows: Sequence[Row], augmented: bool) -> list[Duel]:
    """Compare student and twin at every size of both; the student predicts by the mean of its logits."""
    half = [row for row in rows if row["augmented"] == augmented]
    students, twins = _rows_of(half, "deit"), _rows_of(half, "vit")
    found = []
    for size in sorted({int(row["pictures"]) for row in students}):
        student, twin = ([row for row in side if row["pictures"] == size] for side in (students, twins))
        if verdict := compare_rows(student, twin):
            found.append((size, verdict))
    family = compare_family([verdict for _, verdict in found])
    return [Duel(size, verdict) for (size, _), verdict in zip(found, family, strict=True)]


def _rows_of(rows: Sequence[Row], model: str) -> list[Row]:
    return [row for row in rows if row["model"] == model]


def describe_tally(by_dataset: Mapping[str, Sequence[Duel]], augmented: bool) -> str:
    """Count the sizes of all datasets at which the student is better, worse, or no difference is shown."""
    every = [duel for duels in by_dataset.values() for duel in duels]
    if not every:
        return NO_TWIN
    half = "with" if augmented else "without"
    outcomes = [duel.outcome for duel in every]
    gains = [duel.verdict.estimate for duel in every]
    none = f"; no verdict at {outcomes.count(None)}" if None in outcomes else ""
    return (
        f"At {plural(len(every), 'dataset size')} {half} augmentation, the student is better at"
        f" {_describe_count(by_dataset, 'higher')}, worse at {_describe_count(by_dataset, 'lower')}, and no difference"
        f" is shown at {outcomes.count('no difference shown') or 'none'}{none}. The mean difference is positive at"
        f" {sum(gain > 0 for gain in gains)}: {gained(float(np.mean(gains)))} points on average."
    )


def _describe_count(by_dataset: Mapping[str, Sequence[Duel]], outcome: Outcome) -> str:
    """Format a count of sizes, as '3 (Digits 50; MNIST 250 and 1,000)'."""
    by_title = {
        title: [duel.pictures for duel in duels if duel.outcome == outcome]
        for title, duels in by_dataset.items()
    }
    listed = "; ".join(f"{title} {_sizes(sizes)}" for title, sizes in by_title.items() if sizes)
    return f"{sum(map(len, by_title.values()))} ({listed})" if listed else "none"


def describe_answers(curves: Sequence[Curve]) -> str:
    """Describe the accuracy of the student's single heads relative to the mean of its logits, over the sizes."""
    by_name = {curve.name: curve for curve in curves}
    usual, parts = by_name.get("test"), []
    for name, curve in by_name.items():
        sizes = (
            []
            if usual is None
            else [size for size in curve.pictures.tolist() if usual.find_size(size) is not None]
        )
        if usual is None or curve is usual or not sizes:
            continue
        more = [
            float(curve.mean[curve.find_size(size)] - usual.mean[usual.find_size(size)]) for size in sizes
        ]
        few, many = gained(100 * min(more)), gained(100 * max(more))
        parts.append(
            f"{ANSWERS[name][0].lower() + ANSWERS[name][1:]} {few if few == many else f'{few} to {many}'}"
        )
    return f"Relative to the mean of the logits, in points: {'; '.join(parts)}." if parts else ""


def _sizes(sizes: Sequence[int]) -> str:
    return join_words([f"{size:,}" for size in sizes])


def group_lessons(rows: Sequence[Row]) -> list[Lesson]:
    """Return the rows of the teaching experiment by lesson and size, in the rows' order."""
    by_lesson: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if "test" in row:
            by_lesson.setdefault((str(row["lesson"]), int(row["pictures"])), []).append(row)
    for group in by_lesson.values():
        group.sort(key=lambda row: int(row["seed"]))
    return [
        Lesson(
            name,
            pictures,
            tuple(float(row["validation"]) for row in group),
            tuple(group),
        )
        for (name, pictures), group in by_lesson.items()
    ]


def select_lessons(lessons: Sequence[Lesson]) -> list[tuple[Lesson, Lesson]]:
    """Return the recipe selected by validation accuracy and the twin, at every size that has both."""
    pairs = []
    for size in sorted({lesson.pictures for lesson in lessons}):
        at_size = [lesson for lesson in lessons if lesson.pictures == size]
        distilled = [lesson for lesson in at_size if lesson.name != _TWIN]
        twin = next((lesson for lesson in at_size if lesson.name == _TWIN), None)
        if distilled and twin is not None:
            pairs.append((max(distilled, key=lambda lesson: lesson.mean_validation), twin))
    return pairs


def create_duel(distilled: Lesson, twin: Lesson) -> Duel | None:
    """Return a recipe compared with its twin; None if no seed has both."""
    verdict = compare_rows(distilled.rows, twin.rows)
    return None if verdict is None else Duel(distilled.pictures, verdict)


def token_similarity(stream: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine between the two prefix tokens after every block: x·y / (‖x‖ ‖y‖) (DeiT paper, section 4).

    Args:
        stream: (..., tokens, D), the residual stream, [CLS] and the distillation token first; leading
            axes such as depth are kept.

    Returns:
        (...,) in [-1, 1]; 0 where a token is the zero vector.
    """
    x, y = (stream[..., token, :].astype(np.float64) for token in (0, 1))
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    products = (x * y).sum(axis=-1)
    cosines: NDArray[np.float64] = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return cosines


def disagreement(decisions: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the share of images that two classifiers decide differently, for every pair (DeiT paper, table 4).

    Args:
        decisions: (classifiers, images), each classifier's most probable class.

    Returns:
        (classifiers, classifiers), symmetric, zero on the diagonal.
    """
    differs: NDArray[np.float64] = (decisions[:, None] != decisions[None]).mean(axis=-1)
    return differs


def discordance(first: NDArray[Any], second: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the share of images that exactly one of two classifiers gets right (McNemar 1947).

    The difference of their accuracies on n images has a standard error of at most sqrt(discordance / n).
    """
    return float(((first == labels) != (second == labels)).mean())


def repeated_mistake_share(student: NDArray[Any], teacher: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the share of the teacher's misclassified images that the student classifies alike.

    NaN for a teacher without a mistake.
    """
    wrong = teacher != labels
    return float((student == teacher)[wrong].mean()) if wrong.any() else float("nan")


def combine_heads(by_cls: NDArray[Any], by_dist: NDArray[Any]) -> dict[str, NDArray[np.floating[Any]]]:
    """Return both combinations of the two heads, as class probabilities.

    'mean': softmax((Z_cls + Z_dist) / 2), timm's. 'sum': (softmax Z_cls + softmax Z_dist) / 2, whose order of classes
    is that of the paper's sum (Touvron et al. 2021, section 4).

    Args:
        by_cls: logits (..., classes); `by_dist` alike.
    """
    return {
        "mean": softmax((by_cls + by_dist) / 2),
        "sum": (softmax(by_cls) + softmax(by_dist)) / 2,
    }


def select_cases(
    teacher: NDArray[Any] | None,
    student: NDArray[Any],
    by_cls: NDArray[Any],
    by_dist: NDArray[Any],
    labels: NDArray[Any],
) -> dict[str, NDArray[np.bool_]]:
    """Return masks of images by agreement of student, teacher and heads; without a teacher only of the heads.

    Args:
        teacher, student, by_cls, by_dist: decisions (images,).
        labels: (images,).
    """
    masks = (
        {}
        if teacher is None
        else {
            "teacher and student differ": teacher != student,
            "the student repeats its teacher's mistake": (teacher != labels) & (student == teacher),
            "the student is right where its teacher is wrong": (teacher != labels) & (student == labels),
            "the student is wrong where its teacher is right": (teacher == labels) & (student != labels),
        }
    )
    return masks | {"[CLS] and [DIST] differ": by_cls != by_dist}
