"""What the model answers for this picture, and what that answer is worth."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.frame import page
from pages.selection.subject import Subject
from pages.stores import catalogue
from pages.views.bars import bars
from vitviz.text import plain

SMALL_WORLDS = ("digits", "mnist", "fashion-mnist", "shapes")  # sets that hold no photographs


def provenance(subject: Subject, random: bool) -> str:
    """What the model was trained on, and whether this picture is of that kind."""
    from vitviz.data.datasets import DATASETS, tested

    trained_on = subject.model.trained_on
    if random or trained_on is None:
        return "Random weights: these probabilities mean nothing but where training starts."
    began = subject.model.began_with
    trained = f"Trained on {plain(catalogue.data_title(trained_on))}"
    if began is not None:
        trained = f"{trained}, from the weights of {plain(began)} on"
    kind = subject.image.partition(":")[0]
    if tested(kind) == trained_on:
        return f"{trained}; this picture is from its test set."
    if trained_on not in DATASETS:
        return f"{trained}."
    classes = f"one of its {len(subject.classes)} classes"
    if began is not None:
        return f"{trained}: it answers with {classes}, whatever the picture shows."
    if trained_on in SMALL_WORLDS and kind != "upload":
        return (
            f"{trained} and on nothing else: it was never shown a picture such as this one, and answers with {classes}"
            " all the same."
        )
    return f"{trained} and on nothing else: it answers with {classes}, whatever the picture shows."


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
