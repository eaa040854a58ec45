"""Controls of the explanation methods: the explained class, and how rollout fuses heads."""

from typing import cast

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.map_controls import BackgroundControls, read_background
from pages.selection.subject import CapturedSubject
from vitviz.analysis.attention import Fusion
from vitviz.models.abilities import Ability
from vitviz.probe.explanation_maps import Recipe
from vitviz.text import percent

MOST_CLASSES = 50  # of the list, the most probable first
DISCARDS = tuple(round(0.05 * twentieth, 2) for twentieth in range(20))  # shares of a layer's weights
CLASS_KEY = "attention.class"  # `class` is a keyword, so it cannot be a field


def read_controls(subject: CapturedSubject) -> tuple[Recipe, BackgroundControls]:
    with page.row():
        with st.container(width=230):
            target = read_class(subject)
        with page.options("attention.recipe"):
            fusion, discard = _read_rollout(subject.able.rollout)
            background = read_background(subject)
    return Recipe(target, fusion, discard), background


def _read_rollout(rollout: Ability) -> tuple[Fusion, float]:
    fusion = widgets.segmented(
        "attention.fusion",
        "Rollout: fuse heads by",
        ["mean", "max", "min"],
        help="Applied in every layer before the product of layers.",
        why_not=None if rollout else rollout.why_not,
    )
    discard = widgets.select_slider(
        "attention.discard",
        "Rollout: discard",
        DISCARDS,
        0.0,
        format_func=lambda share: percent(share, 0),
        help="Drops the lowest weights of every layer; columns of prefix tokens stay.",
        why_not=None if rollout else rollout.why_not,
    )
    return cast(Fusion, fusion), float(discard)


def read_class(subject: CapturedSubject) -> int | None:
    """Return the explained class; None if the model has no classes."""
    label, able = "Explained class", subject.able.class_head
    if not able:
        st.selectbox(label, ["no classes"], disabled=True, help=able.why_not)
        return None
    probabilities = subject.probabilities
    order = np.argsort(-probabilities, kind="stable")[:MOST_CLASSES]

    def format_option(option: str | int) -> str:
        if isinstance(option, str):
            return f"predicted: {subject.classes[order[0]]}"
        return f"{subject.classes[option]}, {percent(probabilities[option])}"

    options: list[str | int] = ["top", *(int(i) for i in order)]
    option = widgets.select(CLASS_KEY, label, options, format_func=format_option)
    return int(order[0]) if isinstance(option, str) else option
