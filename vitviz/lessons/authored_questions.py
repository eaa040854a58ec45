"""Questions whose right answer their author gives: multiple choice, number, place, order, and free text."""

from dataclasses import dataclass
from typing import Annotated

from vitviz.lessons.formula_measures import MAX_GRID
from vitviz.lessons.question_kinds import (
    CORRECT_ANSWER,
    AnswerKind,
    Arrange,
    BaseMeasure,
    Choose,
    Drag,
    MeasuredAnswer,
    Point,
    QuestionSubject,
    Write,
    check_range,
)

MAX_NUMBER = 1e6
MAX_ITEMS = 6  # to put in order: 720 permutations
MAX_OPTIONS = 12
MAX_LABEL = 80  # characters of an option or item


@dataclass(frozen=True, kw_only=True)
class AuthoredMeasure(BaseMeasure):
    """An answer that the question's author gives; `explanation` is shown with it."""

    explanation: str = ""

    def _find_answer(self, subject: QuestionSubject) -> float | None:
        """Return the right answer; None if every answer counts."""
        return None

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        return MeasuredAnswer(self._find_answer(subject), self.explanation, label=CORRECT_ANSWER)


@dataclass(frozen=True, kw_only=True)
class Choice(AuthoredMeasure):
    """One of the author's options.

    right: the right option, from 1; 0 if every option counts, as in a poll.
    """

    options: tuple[str, ...]
    right: int = 0

    def __post_init__(self) -> None:
        _check_labels("options", self.options, MAX_OPTIONS)
        check_range("right", self.right, 0, len(self.options))

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(self.options)

    def _find_answer(self, subject: QuestionSubject) -> float | None:
        return float(self.right - 1) if self.right else None


@dataclass(frozen=True, kw_only=True)
class Number(AuthoredMeasure):
    """A number; answers within the tolerance are right."""

    value: Annotated[float, -MAX_NUMBER, MAX_NUMBER]
    tolerance: Annotated[float, 0, MAX_NUMBER] = 0.0
    unit: str = ""
    digits: Annotated[int, 0, 4] = 0  # decimals

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit == "%":
            raise ValueError("expected a unit in words, such as 'percent', received '%'")
        if round(self.value, self.digits) != self.value:
            raise ValueError(f"expected digits to show {self.value:g} exactly, received {self.digits}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Drag(-MAX_NUMBER, MAX_NUMBER, 10.0**-self.digits, self.unit, self.tolerance)

    def _find_answer(self, subject: QuestionSubject) -> float | None:
        return self.value


@dataclass(frozen=True, kw_only=True)
class Place(AuthoredMeasure):
    """A patch of the image.

    patch, or row and col: the right patch, from 1; 0 if every patch counts.
    """

    patch: Annotated[int, 0, 64 * 64] = 0
    row: Annotated[int, 0, 64] = 0
    col: Annotated[int, 0, 64] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.row) != bool(self.col):
            raise ValueError(f"expected row and col, or neither, received {self.row} and {self.col}")
        if self.patch and self.row:
            raise ValueError(f"expected a patch or its row and col, received {self.patch} and {self.row}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        rows, cols = subject.layout.grid
        return Point((rows, cols) if 1 < max(rows, cols) <= 64 else (MAX_GRID // 2, MAX_GRID // 2))

    def _find_answer(self, subject: QuestionSubject) -> float | None:
        kind = self.get_answer_kind(subject)
        assert isinstance(kind, Point)
        rows, cols = kind.grid
        if self.row:
            return float((min(self.row, rows) - 1) * cols + min(self.col, cols) - 1)
        return float(min(self.patch, rows * cols) - 1) if self.patch else None


@dataclass(frozen=True, kw_only=True)
class Order(AuthoredMeasure):
    """Items to put in order; the author lists them in the right one, and they are shown alphabetically."""

    items: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_labels("items", self.items, MAX_ITEMS)

    def get_answer_kind(self, subject: QuestionSubject) -> Arrange:
        return Arrange(tuple(sorted(self.items)))

    def _find_answer(self, subject: QuestionSubject) -> float | None:
        return self.get_answer_kind(subject).number_order(self.items)


@dataclass(frozen=True, kw_only=True)
class FreeText(AuthoredMeasure):
    """A short text, which nothing judges."""

    kind = Write()


def _check_labels(name: str, labels: tuple[str, ...], most: int) -> None:
    if not 2 <= len(labels) <= most or len({*labels}) < len(labels):
        raise ValueError(f"expected 2 to {most} different {name}, received {len(labels)}")
    for label in labels:
        if not 0 < len(label.strip()) <= MAX_LABEL:
            raise ValueError(f"expected {name} of 1 to {MAX_LABEL} characters, received {len(label)}")
