"""Kinds of answers to a question, measured answers, and the protocol of a measure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from vitviz.experiments.result_file import ResultError
from vitviz.models.abilities import Abilities, abilities
from vitviz.models.token_layout import TokenLayout
from vitviz.text import join_words, percent, signed


def check_range(name: str, number: float, low: float, high: float) -> None:
    """Raise ValueError if a parameter lies outside its range."""
    if not low <= number <= high:
        raise ValueError(f"expected {name} in {low:g}..{high:g}, received {number:g}")


def check_name(name: str, text: str, table: Collection[str]) -> None:
    """Raise ValueError if a parameter is not in a table."""
    if text not in table:
        raise ValueError(f"expected {name} to be one of {', '.join(table)}, received {text!r}")


FloatArray = NDArray[np.floating[Any]]
CORRECT_ANSWER = "Correct answer"  # label of an author's own answer
CLOSE_SHARE = 0.1  # of a scale's length: a prediction within this distance of the measured number is close
MAX_TEXT_ANSWER = 80  # characters
Answer = float | str  # a text for `Write`, else a number


class _AnswerKind:
    """A kind of answer: it formats, checks and judges answers, and writes and reads them as values of a link."""

    def format_answer(self, answer: Answer) -> str:
        raise NotImplementedError

    def count_answers(self) -> int:
        """Return the number of possible answers, which are numbered from 0; 0 if they are not numbered."""
        return 0

    def encode(self, answer: Answer) -> str:
        """Return the answer as a value of a link."""
        return f"{answer:.9g}" if isinstance(answer, float | int) else answer

    def decode(self, text: str) -> Answer | None:
        """Return the answer of a link; None if it is not a possible one."""
        with suppress(ValueError):
            return self.validate(float(text))
        return None

    def validate(self, answer: Answer) -> Answer:
        """Return an answer as it is counted.

        Raises:
            ValueError: if it is not a possible answer.
        """
        if answer not in range(self.count_answers()):
            raise ValueError(f"expected one of {self.count_answers()} answers, received {answer}")
        return float(answer)

    def is_right(self, guess: Answer, measured: MeasuredAnswer) -> bool:
        return guess in measured.right

    def describe_verdict(self, guess: Answer, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a prediction with the measured answer."""
        guessed = self.format_answer(guess)
        if not measured.right:
            return f"Your answer: {guessed}."
        if self.is_right(guess, measured):
            return f"Your prediction, {guessed}, is correct."
        return f"Your prediction: {guessed}. {measured.label}: {measured.format_answer(self)}."


@dataclass(frozen=True)
class Choose(_AnswerKind):
    """One of a few options; an answer is the option's index.

    names: of the options in a link; by default their indices.
    """

    options: tuple[str, ...]
    names: tuple[str, ...] = ()

    def count_answers(self) -> int:
        return len(self.options)

    def format_answer(self, answer: Answer) -> str:
        return self.options[int(answer)]

    def encode(self, answer: Answer) -> str:
        return self.names[int(answer)] if self.names else f"{answer:g}"

    def decode(self, text: str) -> Answer | None:
        if not self.names:
            return super().decode(text)
        return float(self.names.index(text)) if text in self.names else None


@dataclass(frozen=True)
class Drag(_AnswerKind):
    """A number on a scale.

    tolerance: largest distance of a right answer, such as 0 for a count; such a number is typed. By default the number
        is set on a slider, and a tenth of the scale is close.
    """

    low: float
    high: float
    step: float
    unit: str = ""  # '%': the number is a share; else written after the number
    tolerance: float | None = None

    @property
    def is_typed(self) -> bool:
        return self.tolerance is not None

    @property
    def close_distance(self) -> float:
        """The largest distance of a right or close answer."""
        return CLOSE_SHARE * (self.high - self.low) if self.tolerance is None else self.tolerance

    @property
    def digits(self) -> int:
        """Decimals of the numbers as they are shown."""
        return 0 if self.step >= 1 else max(0, -int(np.floor(np.log10(self.step))))

    def format_answer(self, answer: Answer) -> str:
        number = float(answer)
        if self.unit == "%":
            return percent(number)
        text = f"{number:,.0f}" if not self.digits else signed(number, self.digits)
        return f"{text} {self.unit}".strip()

    def validate(self, answer: Answer) -> Answer:
        number = float(answer)
        if not self.low <= number <= self.high:
            raise ValueError(f"expected an answer in {self.low:g}..{self.high:g}, received {number:g}")
        return min(self.high, round(self.low + round((number - self.low) / self.step) * self.step, 9))

    def is_right(self, guess: Answer, measured: MeasuredAnswer) -> bool:
        return abs(float(guess) - float(measured.value or 0.0)) <= self.close_distance + 1e-9

    def describe_verdict(self, guess: Answer, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a prediction with the measured number."""
        guessed, number = self.format_answer(guess), measured.format_answer(self)
        grade = "Close" if self.is_right(guess, measured) else "Wrong" if self.is_typed else "Far off"
        return f"{'Exact' if guessed == number else grade}: predicted {guessed}, {measured.label.lower()} {number}."


@dataclass(frozen=True)
class Point(_AnswerKind):
    """A patch of the image; an answer is its cell in reading order."""

    grid: tuple[int, int]

    def count_answers(self) -> int:
        return self.grid[0] * self.grid[1]

    def format_answer(self, answer: Answer) -> str:
        row, col = divmod(int(answer), self.grid[1])
        return f"row {row + 1}, column {col + 1}"

    def describe_verdict(self, guess: Answer, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a predicted patch with the measured one, by its rank among all patches."""
        text = super().describe_verdict(guess, measured)
        if measured.cells and not self.is_right(guess, measured):
            share = measured.cells[int(guess)]
            rank = 1 + sum(cell > share for cell in measured.cells)
            text += f" Your patch ranks {rank} of {len(measured.cells)}, with {percent(share)}."
        return text


@dataclass(frozen=True)
class Arrange(_AnswerKind):
    """An order of a few items; an answer is the number of the permutation, in lexicographic order."""

    items: tuple[str, ...]

    def count_answers(self) -> int:
        return math.factorial(len(self.items))

    def format_answer(self, answer: Answer) -> str:
        return " → ".join(
            self.items[place] for place in list(permutations(range(len(self.items))))[int(answer)]
        )

    def number_order(self, items: Sequence[str]) -> float:
        """Return the number of an order of the items."""
        order = tuple(self.items.index(text) for text in items)
        return float(list(permutations(range(len(self.items)))).index(order))


@dataclass(frozen=True)
class Write(_AnswerKind):
    """A short text of one line, which nothing judges."""

    def format_answer(self, answer: Answer) -> str:
        return str(answer)

    def decode(self, text: str) -> Answer | None:
        with suppress(ValueError):
            return self.validate(text)
        return None

    def validate(self, answer: Answer) -> Answer:
        text = " ".join("".join(c if c.isprintable() else " " for c in str(answer)[:1000]).split())
        if not 0 < len(text) <= MAX_TEXT_ANSWER:
            raise ValueError(f"expected a text of 1 to {MAX_TEXT_ANSWER} characters, received {len(text)}")
        return text


AnswerKind = Choose | Drag | Point | Arrange | Write


@dataclass(frozen=True)
class MeasuredAnswer:
    """A measured answer: an option's index, a number or a cell; a sentence with its numbers; every cell's share.

    value: None if no answer is right or wrong. level: options that are tied with `value` and equally correct.
    label: names what the value is.
    """

    value: float | None
    words: str
    cells: tuple[float, ...] = ()
    level: tuple[float, ...] = ()
    label: str = "Measured"

    @property
    def is_measured(self) -> bool:
        """Return False for an author's own answer."""
        return self.label != CORRECT_ANSWER

    @property
    def right(self) -> tuple[float, ...]:
        """Every correct answer."""
        return () if self.value is None else (self.value, *self.level)

    def format_answer(self, kind: _AnswerKind) -> str:
        """Return the correct answers in words: 'ReLU and SiLU' if both are correct."""
        return join_words([kind.format_answer(answer) for answer in self.right])


class ModelSummary(Protocol):
    """A model's properties that are known without its weights."""

    @property
    def title(self) -> str: ...
    @property
    def accuracy(self) -> float | None: ...


class QuestionSubject(Protocol):
    """The model, step and image that a question is about, as `pages.selection.subject.Subject`."""

    @property
    def choice(self) -> ModelSummary: ...
    @property
    def model(self) -> Any: ...  # a LoadedModel, which is not imported here: it imports torch
    @property
    def prepared(self) -> Any: ...
    @property
    def layout(self) -> TokenLayout: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    def capture(self, patterns: tuple[str, ...]) -> Any: ...


class MeasuredSubject(QuestionSubject, Protocol):
    """A subject with the model's attention and probabilities, as `pages.selection.subject.CapturedSubject`."""

    @property
    def attn(self) -> Sequence[FloatArray]: ...  # by layer: (heads, query, key)
    @property
    def probabilities(self) -> FloatArray: ...


class Measure(Protocol):
    """A named way to compute a question's answer from a model, a step and an image."""

    def why_not(self, subject: QuestionSubject) -> str:
        """Return why the subject has no answer, in a sentence; '' if it has one."""

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind: ...

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer: ...


def get_abilities(subject: QuestionSubject) -> Abilities:
    return abilities(subject.model.config)


class BaseMeasure:
    """A measure with answers of one kind, by default a share, of models with the abilities that `needs` names."""

    needs: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[AnswerKind] = Drag(0.0, 1.0, 0.01, "%")

    def __post_init__(self) -> None:
        """Check the parameters: `Annotated[int, 0, 48]` states a range, `Annotated[str, TABLE]` a table of names."""
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            match getattr(hint, "__metadata__", ()):
                case (low, high):
                    check_range(name, getattr(self, name), low, high)
                case (table,):
                    check_name(name, getattr(self, name), table)

    def why_not(self, subject: QuestionSubject) -> str:
        reasons = (getattr(get_abilities(subject), name).why_not for name in self.needs)
        return next(filter(None, reasons), "")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return self.kind


class StoredMeasure(BaseMeasure):
    """A measure of an experiment's stored results."""

    missing: ClassVar[str] = "The experiment's results are not stored on this server."

    def find_answer(self) -> MeasuredAnswer:
        """Return the answer.

        Raises:
            ResultError: if the results are missing, damaged or incomplete.
        """
        raise NotImplementedError

    def why_not(self, subject: QuestionSubject) -> str:
        try:
            self.find_answer()
        except ResultError:
            return self.missing
        return ""

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        return self.find_answer()
