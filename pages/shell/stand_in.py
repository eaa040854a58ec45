"""A model that stands in where the sidebar's is of another kind: which one it is, and the offer to choose it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.shell import nouns
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.config import ModelConfig
from vitviz.data.datasets import default_pictures, note_of
from vitviz.models.abilities import abilities

RANDOM = ":orange-badge[:material/casino: random weights] It has not been trained."
LARGEST_PX = 64  # of the pictures of a model that nobody asked for: it must be quick


def plain_vit(config: ModelConfig) -> bool:
    """Whether it is a ViT that cuts patches, with learned positions, a readout from [CLS] and one head."""
    able = abilities(config)
    return bool(able.embedding and able.learned_positions and able.cls_readout and not able.distillation)


def nearest(fits: Callable[[ModelConfig], bool]) -> ModelChoice:
    """Of a kind of small models the one nearest to the sidebar's: trained, of its channels, data, classes and size."""
    own = nouns.choice()

    def distance(choice: ModelChoice) -> tuple[bool, bool, bool, bool, bool, float]:
        return (
            choice.trained_on is None,
            choice.preparation.in_chans != own.preparation.in_chans,
            choice.trained_on != own.trained_on,
            choice.config.num_classes != own.config.num_classes,
            choice.config.image_size != own.config.image_size,
            -choice.curve[-1][1] if choice.curve else 0.0,  # of equals the best
        )

    found = (c for c in nouns.models().values() if fits(c.config) and c.config.image_size <= LARGEST_PX)
    return min(found, key=distance)


def offer(
    reason: str, key: str, fits: Callable[[ModelConfig], bool] = plain_vit, icon: str = ":material/block:"
) -> None:
    """Says why the sidebar's model has nothing to show here, and offers the nearest one that has.

    Args:
        reason: one or two sentences.
        key: of the button.
        fits: which models have what this page shows.
        icon: of the note.
    """
    st.info(reason, icon=icon)
    choice = nearest(fits)
    if st.button(f"Show {choice.shown} instead", key=key):
        nouns.set_model(choice.key)
        st.rerun()  # all of the page, also from within a fragment: the sidebar changes too


def say_which(choice: ModelChoice, *, lacks: str, button: str, key: str) -> None:
    """Says which model is shown where the sidebar's has no such part, and offers it; says where weights are random.

    Args:
        choice: the model that is shown.
        lacks: what the sidebar's model has none of: 'windows'.
        button: what the offer is called: 'Choose this Swin'.
        key: of the button.
    """
    random = RANDOM if choice.trained_on is None else ""
    if choice.key == nouns.current().model:
        if random:
            st.markdown(random)
        return
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(f":gray[{nouns.choice().shown} has no {lacks}; this is] {choice.shown}. {random}".strip())
    right.button(button, key=key, on_click=nouns.set_model, args=(choice.key,), width="stretch")


def picture(choice: ModelChoice) -> tuple[str, str]:
    """(key of the picture that a model is shown with, a sentence that says so where it is not the chosen one).

    A set's picture in grey says nothing to a model of colour, nor one in colour to a model of grey: one of the set that
    the model learned from stands in, of the same number, or the nearest such set that is here.
    """
    image = nouns.current().image
    kind, _, number = image.partition(":")
    if kind in ("sample", "upload"):
        return image, ""
    channels = cached.dataset(kind).test_images.shape[-1]
    if channels == choice.preparation.in_chans:
        return image, ""
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    other = cached.dataset(name)
    index = int(number) % len(other.test_images)
    said = ("a grey picture" if channels == 1 else "a picture in colour", note_of(name).title, f"{index:,}")
    label = "" if other.test_labels is None else f", {other.classes[int(other.test_labels[index])]}"
    sentence = (
        "The chosen picture is {}, which this model never learned from; here stands **{} {}{}** in its place."
    )
    return f"{name}:{index}", sentence.format(*said, label)
