"""Predict, then measure: the question with which a section begins, answered by what the section computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from pages.inside.layers.sides import Side
from pages.shell import asking
from vitviz.lessons.kinds import AtHand, Kind, Measured
from vitviz.lessons.lesson import Question


@dataclass(frozen=True)
class OfSection:
    """What a section has computed, as an answer."""

    asked: Kind
    answer: Callable[[], Measured]

    def why_not(self, at: AtHand) -> str:
        """It has been computed."""
        return ""

    def kind(self, at: AtHand) -> Kind:
        """What is asked for."""
        return self.asked

    def measured(self, at: AtHand) -> Measured:
        """The answer."""
        return self.answer()


@st.fragment
def first(one: Side, key: str, prompt: str, kind: Kind, answer: Callable[[], Measured]) -> None:
    """The question behind one closed line above the picture; its answer holds while what it depends on stays.

    Args:
        key: of what the answer depends on beside model, step and picture: the section, the other model, the set.
    """
    drawer = st.expander(
        "Predict first", icon=":material/experiment:", key=f"layers.first.{key}", on_change="rerun"
    )
    if drawer.open:
        with drawer:
            asking.ask(Question(prompt, OfSection(kind, answer)), f"layers.asks.{key}", one.now)
