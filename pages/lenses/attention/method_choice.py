"""Which class is explained, and how rollout fuses: the controls of 'Methods' and 'Is it true?'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.map_controls import Ground, choose_ground
from pages.selection.subject import Subject
from vitviz.analysis.attention import Fusion
from vitviz.models.abilities import Ability
from vitviz.probe.explain import Recipe
from vitviz.text import percent

MOST_CLASSES = 50  # of the list, the most probable first
DISCARDS = tuple(round(0.05 * twentieth, 2) for twentieth in range(20))  # shares of a layer's weights


@dataclass(frozen=True)
class Fusing(widgets.Chosen, page="attention"):
    """How rollout makes one map of many."""

    fusion: Fusion
    discard: float


KEY_OF_CLASS = "attention.class"  # a word of Python's, so no field


def choose(subject: Subject) -> tuple[Recipe, Ground]:
    """Class, fusion and discard, and how maps are drawn; the class needs a head, rollout layers to multiply."""
    with page.row():
        with st.container(width=230):
            target = _class(subject)
        with page.options("attention.recipe"):
            fusion, discard = _fusing(subject.able.rollout)
            ground = choose_ground(subject)
    return Recipe(target, fusion, discard), ground


def _fusing(rollout: Ability) -> tuple[Fusion, float]:
    fusion = widgets.segmented(
        Fusing.key("fusion"),
        "Rollout fuses heads by",
        ["mean", "max", "min"],
        help="Of every layer, before the product.",
        why_not=None if rollout else rollout.why_not,
    )
    discard = widgets.select_slider(
        Fusing.key("discard"),
        "Rollout discards",
        DISCARDS,
        0.0,
        format_func=lambda share: percent(share, 0),
        help="The lowest weights of every layer are dropped; the columns of prefix tokens are kept.",
        why_not=None if rollout else rollout.why_not,
    )
    return cast(Fusion, fusion), float(discard)


def _class(subject: Subject) -> int | None:
    """The class that is explained; None where there are none."""
    label, able = "Explain the class", subject.able.class_head
    if not able:
        st.selectbox(label, ["no classes"], disabled=True, help=able.why_not)
        return None
    chances = subject.probabilities
    order = np.argsort(-chances, kind="stable")[:MOST_CLASSES]

    def name(chosen: str | int) -> str:
        if isinstance(chosen, str):
            return f"predicted: {subject.classes[order[0]]}"
        return f"{subject.classes[chosen]}, {percent(chances[chosen])}"

    options: list[str | int] = ["top", *(int(i) for i in order)]
    said = widgets.select(KEY_OF_CLASS, label, options, format_func=name)
    return int(order[0]) if isinstance(said, str) else said
