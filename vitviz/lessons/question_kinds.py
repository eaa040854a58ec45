"""Kinds of answers to a question, measured answers, and the protocol of a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vitviz.models.abilities import Abilities, abilities
from vitviz.models.layout import TokenLayout
from vitviz.text import join_words, percent, signed

FloatArray = NDArray[np.floating[Any]]
CLOSE_SHARE = 0.1  # of a scale's length: a prediction within this distance of the measured number is close


@dataclass(frozen=True)
class Choose:
    """One of a few options; an answer is the option's index."""

    options: tuple[str, ...]

    def format_answer(self, answer: float) -> str:
        return self.options[int(answer)]

    def describe_verdict(self, guess: float, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a prediction with the measured answer."""
        if guess in measured.right:
            return f"Your prediction, {self.format_answer(guess)}, is correct."
        return f"Your prediction: {self.format_answer(guess)}. Measured: {measured.format_answer(self)}."


@dataclass(frozen=True)
class Drag:
    """A number on a scale."""

    low: float
    high: float
    step: float
    unit: str = ""  # '%': the number is a share; else written after the number

    def format_answer(self, answer: float) -> str:
        if self.unit == "%":
            return percent(answer)
        digits = 0 if self.step >= 1 else max(0, -int(np.floor(np.log10(self.step))))
        number = f"{answer:,.0f}" if not digits else signed(answer, digits)
        return f"{number} {self.unit}".strip()

    def describe_verdict(self, guess: float, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a prediction with the measured number."""
        close = abs(guess - measured.value) <= CLOSE_SHARE * (self.high - self.low)
        grade = "Close" if close else "Far off"
        if self.format_answer(guess) == self.format_answer(measured.value):
            grade = "Exact"
        numbers = f"predicted {self.format_answer(guess)}, measured {self.format_answer(measured.value)}"
        return f"{grade}: {numbers}."


@dataclass(frozen=True)
class Point:
    """A patch of the image; an answer is its cell in reading order."""

    grid: tuple[int, int]

    def format_answer(self, answer: float) -> str:
        row, col = divmod(int(answer), self.grid[1])
        return f"row {row + 1}, column {col + 1}"

    def describe_verdict(self, guess: float, measured: MeasuredAnswer) -> str:
        """Return a sentence that compares a predicted patch with the measured one, by its rank among all patches."""
        if int(guess) == int(measured.value):
            return f"Your prediction, {self.format_answer(guess)}, is correct."
        text = (
            f"Your prediction: {self.format_answer(guess)}. Measured: {self.format_answer(measured.value)}."
        )
        if measured.cells:
            share = measured.cells[int(guess)]
            rank = 1 + sum(cell > share for cell in measured.cells)
            text += f" Your patch ranks {rank} of {len(measured.cells)}, with {percent(share)}."
        return text


AnswerKind = Choose | Drag | Point


@dataclass(frozen=True)
class MeasuredAnswer:
    """A measured answer: an option's index, a number or a cell; a sentence with its numbers; every cell's share.

    level: options that are tied with `value` and equally correct.
    """

    value: float
    words: str
    cells: tuple[float, ...] = ()
    level: tuple[float, ...] = ()

    @property
    def right(self) -> tuple[float, ...]:
        """Every correct answer."""
        return self.value, *self.level

    def format_answer(self, kind: AnswerKind) -> str:
        """Return the correct answers in words: 'ReLU and SiLU' if both are correct."""
        return join_words([kind.format_answer(answer) for answer in self.right])


class ModelSummary(Protocol):
    """A model's properties that are known without its weights."""

    @property
    def title(self) -> str: ...
    @property
    def accuracy(self) -> float | None: ...


class QuestionSubject(Protocol):
    """The model, step and image that a question is about; `pages.selection.subject.Subject` implements it."""

    @property
    def choice(self) -> ModelSummary: ...
    @property
    def model(self) -> Any: ...  # a LoadedModel, which is not imported here: it imports torch
    @property
    def prepared(self) -> Any: ...
    @property
    def layout(self) -> TokenLayout: ...
    @property
    def attn(self) -> FloatArray: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def probabilities(self) -> FloatArray: ...
    def capture(self, patterns: tuple[str, ...]) -> Any: ...


class Measure(Protocol):
    """A named way to compute a question's answer from a model, a step and an image."""

    def why_not(self, subject: QuestionSubject) -> str:
        """Return why the subject has no answer, in a sentence; '' if it has one."""

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind: ...

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer: ...


def get_abilities(subject: QuestionSubject) -> Abilities:
    return abilities(subject.model.config)
