"""What a question asks for, what is known when it is measured, and what a measurement says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vitviz.models.abilities import Abilities, abilities
from vitviz.models.layout import TokenLayout
from vitviz.text import listed, percent, signed

FloatArray = NDArray[np.floating[Any]]
NEAR = 0.1  # of a scale's length: a guess that lies no further from what is measured is close


@dataclass(frozen=True)
class Choose:
    """One of a few options."""

    options: tuple[str, ...]

    def said(self, guess: float) -> str:
        """The option in words."""
        return self.options[int(guess)]

    def verdict(self, guess: float, measured: Measured) -> str:
        """How the guess compares."""
        if guess in measured.right:
            return f"You said {self.said(guess)}, and so it is."
        return f"You said {self.said(guess)}; measured: {measured.said(self)}."


@dataclass(frozen=True)
class Drag:
    """A number between two ends."""

    low: float
    high: float
    step: float
    unit: str = ""  # '%': the number is a share; else what stands behind the number

    def said(self, guess: float) -> str:
        """The number in words."""
        if self.unit == "%":
            return percent(guess)
        digits = 0 if self.step >= 1 else max(0, -int(np.floor(np.log10(self.step))))
        number = f"{guess:,.0f}" if not digits else signed(guess, digits)
        return f"{number} {self.unit}".strip()

    def verdict(self, guess: float, measured: Measured) -> str:
        """How the guess compares."""
        away = abs(guess - measured.value)
        close = away <= NEAR * (self.high - self.low)
        how = "Close" if close else "Far off"
        if self.said(guess) == self.said(measured.value):
            how = "Exactly"
        return f"{how}: you said {self.said(guess)}, measured {self.said(measured.value)}."


@dataclass(frozen=True)
class Point:
    """A patch of the picture: the pin, as a cell in reading order."""

    grid: tuple[int, int]

    def said(self, guess: float) -> str:
        """The patch in words."""
        row, col = divmod(int(guess), self.grid[1])
        return f"row {row + 1}, column {col + 1}"

    def verdict(self, guess: float, measured: Measured) -> str:
        """How the guess compares: by its rank among all patches."""
        if int(guess) == int(measured.value):
            return f"You pointed at {self.said(guess)}, and so it is."
        text = f"You pointed at {self.said(guess)}; measured: {self.said(measured.value)}."
        if measured.cells:
            own = measured.cells[int(guess)]
            rank = 1 + sum(value > own for value in measured.cells)
            text += f" Yours is number {rank} of {len(measured.cells)}, with {percent(own)}."
        return text


Kind = Choose | Drag | Point


@dataclass(frozen=True)
class Measured:
    """The answer: an option's index, a number or a cell; a sentence with its numbers; the share of every cell.

    level: other options that are as right.
    """

    value: float
    words: str
    cells: tuple[float, ...] = ()
    level: tuple[float, ...] = ()

    @property
    def right(self) -> tuple[float, ...]:
        """Every answer that is right."""
        return self.value, *self.level

    def said(self, kind: Kind) -> str:
        """The answer in words: 'ReLU and SiLU' where both are right."""
        return listed([kind.said(value) for value in self.right])


class Chosen(Protocol):
    """What is known of a model without its weights."""

    @property
    def title(self) -> str: ...
    @property
    def accuracy(self) -> float | None: ...


class AtHand(Protocol):
    """The model, the step and the picture at hand, as `pages.selection.subject.Subject` holds them."""

    @property
    def choice(self) -> Chosen: ...
    @property
    def model(self) -> Any: ...  # a LoadedModel, which is not imported here: it brings torch
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
    """A question's answer, computed from what is at hand."""

    def why_not(self, at: AtHand) -> str:
        """Why this model has no answer, in a sentence; '' where it has one."""

    def kind(self, at: AtHand) -> Kind:
        """What is asked for."""

    def measured(self, at: AtHand) -> Measured:
        """Computes the answer."""


def able_of(at: AtHand) -> Abilities:
    """What the model at hand has."""
    return abilities(at.model.config)
