"""What the model answers for this picture, and what that answer is worth."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.shell import page
from pages.shell.subject import Subject
from pages.stores import catalogue
from pages.views.bars import bars
from vitviz.words import plain

SMALL_WORLDS = ("digits", "mnist", "fashion-mnist", "shapes")  # sets that hold no photographs


def provenance(subject: Subject, random: bool) -> str:
    """What the model was trained on, and whether this picture is of that kind."""
    from vitviz.data.datasets import DATASETS

    trained_on = subject.model.trained_on
    if random or trained_on is None:
        return "Random weights: these probabilities mean nothing but where training starts."
    name = plain(catalogue.data_title(trained_on))
    kind = subject.image.partition(":")[0]
    if kind == trained_on:
        return f"Trained on {name}; this picture is from its test set."
    if trained_on not in DATASETS:
        return f"Trained on {name}."
    if trained_on in SMALL_WORLDS and kind != "upload":
        return (
            f"Trained on {name} and on nothing else: it was never shown a picture such as this one, and answers with"
            f" one of its {len(subject.classes)} classes all the same."
        )
    return (
        f"Trained on {name} and on nothing else: it answers with one of its {len(subject.classes)} classes,"
        " whatever the picture shows."
    )


def draw(subject: Subject, count: int = 5) -> None:
    """The most probable classes as bars, with the model's provenance under them."""
    st.markdown("**Prediction**")
    if not subject.able.class_head:
        page.caption(subject.able.class_head.why_not)
        return
    chances = subject.probabilities
    top = np.argsort(-chances, kind="stable")[:count]
    bars([subject.classes[i] for i in top], chances[top], key="attention.predictions")
    page.caption(provenance(subject, catalogue.is_random(subject.choice, subject.step)))
