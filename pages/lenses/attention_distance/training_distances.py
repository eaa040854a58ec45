"""A model's heads through its training: measured behind the page, moment by moment, while its picture is shown."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import streamlit as st

from pages.lenses.attention_distance import distances
from pages.lenses.attention_distance.distances import Heads, Measure, Pictures
from pages.stores import cached
from pages.stores.background import Background
from pages.stores.model_choice import ModelChoice

MOMENTS = 12  # snapshots of a film: a live run keeps forty
POLL_S = 0.7

_behind = Background()


class Film:
    """The heads at several moments of a training: measured by `advance` in a thread, read by pages."""

    def __init__(self, moments: tuple[int, ...], measure: Callable[[int], Heads]) -> None:
        self.moments, self._measure = moments, measure
        self.heads: dict[int, Heads] = {}  # by step
        self.trouble = ""

    @property
    def complete(self) -> bool:
        """Whether every moment is measured."""
        return len(self.heads) == len(self.moments)

    @property
    def growing(self) -> bool:
        """Whether more moments will come."""
        return not self.complete and not self.trouble

    def advance(self) -> bool:
        """Measure the next moment; whether another is missing still."""
        for step in [step for step in self.moments if step not in self.heads][:1]:
            try:
                self.heads[step] = self._measure(step)
            except Exception:  # a run that was deleted meanwhile, a set that is gone
                logging.getLogger(__name__).warning("step %d cannot be measured", step, exc_info=True)
                self.trouble = f"The way through training is not shown: step {step:,} could not be measured."
        return self.growing


def of(choice: ModelChoice, shown: int, seen: Pictures, asked: Measure) -> Film:
    """The film of a model, begun or complete; it grows while `draw` is shown."""
    known = cached.identity(choice, choice.last_step)
    return _film(choice, known, moments(choice.steps, shown), seen.image, seen, asked)


@cached.per_picture(shared=32, upload=4)
def _film(
    _choice: ModelChoice, known: str, steps: tuple[int, ...], image: str, seen: Pictures, asked: Measure
) -> Film:
    def measure(step: int) -> Heads:
        found = distances.measure(distances.opened(_choice, step), seen, asked)
        return distances.heads_of(found, asked)

    return Film(steps, measure)


def moments(steps: tuple[int, ...], shown: int) -> tuple[int, ...]:
    """The steps of the film: evenly among the snapshots, the shown one with them."""
    places = np.linspace(0, len(steps) - 1, min(MOMENTS, len(steps))).round().astype(int)
    return tuple(sorted({*(steps[place] for place in places), shown}))


def draw(film: Film) -> None:
    """How far a film is; when it is complete the page is drawn anew, with it."""
    if film.growing:
        st.fragment(_watch, run_every=POLL_S)(film)
    elif film.trouble:
        st.caption(film.trouble)


def _watch(film: Film) -> None:
    if not film.growing:
        st.rerun()
    _behind.ask(film)
    done, count = len(film.heads), len(film.moments)
    st.progress(
        done / count,
        f"Through training: {done} of {count} moments are measured. Then a slider drags the heads through them.",
    )
