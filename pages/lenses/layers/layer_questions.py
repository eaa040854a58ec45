"""Predict, then measure: what a section asks before it shows what answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pages.controls import widgets
from pages.questions import prediction_gate
from vitviz.lessons.question_kinds import Choose, Measured
from vitviz.probe.layers import Layer

MOST = 8  # options in a row: layers of a deeper model are asked for several at a time


@dataclass(frozen=True)
class Guess(widgets.Chosen, page="layers"):
    """What is guessed in each section: an option's place from 0, 'shown' for none, '' while the question is open."""

    colours_guess: str
    channels_guess: str
    token_guess: str
    alike_guess: str
    probe_guess: str
    sinks_guess: str


def first(field: str, prompt: str, options: Sequence[str], answer: Callable[[], Measured]) -> bool:
    """Asks before what answers is shown; whether it may be shown. Another prompt is another question.

    Args:
        field: of `Guess`: 'colours_guess'.
        answer: computes which option is right, and the sentence with its numbers.
    """
    return prediction_gate.chosen(Guess.key(field), prompt, Choose(tuple(options)), answer)


@dataclass(frozen=True)
class Spans:
    """A model's layers as options: each for itself, or neighbours together where there are many."""

    layers: Sequence[Layer]

    @property
    def side(self) -> int:
        """How many layers an option holds; the last may hold fewer."""
        return -(-len(self.layers) // MOST)

    @property
    def options(self) -> list[str]:
        """'layer 3', or 'layer 3 to layer 4'."""
        parts = [self.layers[i : i + self.side] for i in range(0, len(self.layers), self.side)]
        return [" to ".join(dict.fromkeys((part[0].title, part[-1].title))) for part in parts]

    def of(self, layers: Sequence[int], words: str) -> Measured:
        """The option that holds a layer, as an answer; the options of other layers that are level are as right."""
        first, *level = dict.fromkeys(layer // self.side for layer in layers)
        return Measured(first, words, level=tuple(level))
