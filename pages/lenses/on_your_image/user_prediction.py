"""Which model keeps its answer longest? A guess first; then what the slider's whole way says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pages.controls import widgets
from pages.questions import prediction_gate
from vitviz.analysis.changes import CHANGES, kept
from vitviz.plots.image_changes import strength_words
from vitviz.text import listed, plain


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """The model that is guessed, by key; 'shown' for none, '' while the question is open."""

    guess: str


@dataclass(frozen=True)
class Kept:
    """How far a model keeps the answer that it gives to the unchanged picture.

    first, last: strengths, by their place on the slider; steps: how many of them beside the neutral one.
    """

    answer: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """How many strengths it outlasts, on both sides together."""
        return self.last - self.first


def outlasted(answers: NDArray[np.int64], start: int) -> Kept:
    """Of one model's answers (strengths,)."""
    return Kept(int(answers[start]), *kept(answers, start))


def read(keys: Sequence[str], question: tuple[str, ...]) -> Choice:
    """The guess as it stands; another picture, change or other models open the question again."""
    return Choice(prediction_gate.read(Choice.key("guess"), question, keys))


def ask(keys: Sequence[str], names: Sequence[str], prompt: str) -> None:
    """The open question, with the models as its options in a row."""
    prediction_gate.ask(Choice.key("guess"), prompt, dict(zip(keys, names, strict=True)))


def measured(
    guess: str, keys: Sequence[str], names: Sequence[str], found: Sequence[Kept], change: str, grain_px: int
) -> str:
    """What is measured, after the guess: who outlasts most strengths, and how far each comes."""
    most, best = _longest(found)
    total = len(CHANGES[change].values) - 1
    each = "; ".join(
        f"{plain(name)} {_range(one, change, grain_px)}" for name, one in zip(names, found, strict=True)
    )
    verdict = ""
    if guess in keys:
        own = keys.index(guess)
        verdict = f"You said {plain(names[own])}: {'right' if own in best else 'not so'}. "
    if not best:
        return f"{verdict}On this picture **no model** keeps its answer. {each}."
    winners = listed([plain(names[i]) for i in best])
    return (
        f"{verdict}On this picture **{winners}** {'keeps its' if len(best) == 1 else 'keep their'} answer"
        f"{f' longest, over {most} of {total} steps' if total > 1 else ''}. {each}."
    )


def prompt(change: str) -> str:
    """The question about a change."""
    return f"{CHANGES[change].title}: which model keeps its answer to this picture longest?"


def keep(guess: str, keys: Sequence[str], names: Sequence[str], found: Sequence[Kept], change: str) -> None:
    """Puts the guess and who outlasts most among the visit's answers, where a model was guessed."""
    if guess in keys:
        best = [names[i] for i in _longest(found)[1]] or ["none of them"]
        prediction_gate.keep(change, prompt(change), names[keys.index(guess)], listed(best))


def again() -> None:
    """Opens the question again."""
    prediction_gate.again(Choice.key("guess"))


def _longest(found: Sequence[Kept]) -> tuple[int, list[int]]:
    """How many strengths the most steadfast outlast, and which these are: none where all change at the first."""
    most = max(one.steps for one in found)
    return most, [i for i, one in enumerate(found) if one.steps == most > 0]


def _range(one: Kept, change: str, grain_px: int) -> str:
    values = CHANGES[change].values
    if len(values) == 2:
        return "keeps it" if one.steps else "changes it"
    if one.steps == len(values) - 1:
        return "everywhere"
    if not one.steps:
        return "nowhere else"
    ends = [strength_words(change, values[at], grain_px) for at in (one.first, one.last)]
    start = CHANGES[change].start
    if one.first == start or one.last == start:
        return f"up to {ends[1] if one.first == start else ends[0]}"
    return f"from {ends[0]} to {ends[1]}"
