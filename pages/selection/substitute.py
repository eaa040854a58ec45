"""A model that stands in where the sidebar's is of another kind: which one it is, and the offer to choose it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.controls import session_keys, widgets
from pages.frame import page
from pages.selection import model_suggestion, selection
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.config import ModelConfig
from vitviz.data.datasets import default_pictures, first_number, note_of, tested
from vitviz.models.abilities import abilities

RANDOM = ":orange-badge[:material/casino: random weights] It has not been trained."
LARGEST_PX = 64  # of the pictures of a model that nobody asked for: it must be quick


def plain_vit(config: ModelConfig) -> bool:
    """Whether it is a ViT that cuts patches, with learned positions, a readout from [CLS] and one head."""
    able = abilities(config)
    return bool(able.embedding and able.learned_positions and able.cls_readout and not able.distillation)


def nearest(fits: Callable[[ModelConfig], bool]) -> ModelChoice:
    """Of a kind of small models the one nearest to the sidebar's: trained, of its channels, data, classes and size."""
    own = selection.choice()

    def distance(choice: ModelChoice) -> tuple[bool, bool, bool, bool, bool, float]:
        return (
            choice.trained_on is None,
            choice.preparation.in_chans != own.preparation.in_chans,
            choice.trained_on != own.trained_on,
            choice.config.num_classes != own.config.num_classes,
            choice.config.image_size != own.config.image_size,
            -choice.curve[-1][1] if choice.curve else 0.0,  # of equals the best
        )

    found = (c for c in selection.models().values() if fits(c.config) and c.config.image_size <= LARGEST_PX)
    return min(found, key=distance)


def offer(
    reason: str, key: str, fits: Callable[[ModelConfig], bool] = plain_vit, icon: str = ":material/block:"
) -> None:
    """Says why the sidebar's model has nothing to show here, and offers the nearest one that has; of a model that the
    app chose for a photo it goes on to that one.

    Args:
        reason: one or two sentences.
        key: of the button.
        fits: which models have what this page shows.
        icon: of the note.
    """
    choice = nearest(fits)
    if model_suggestion.go_on(choice):
        st.rerun()
    st.info(reason, icon=icon)
    if st.button(f"Show {choice.shown} instead", key=key):
        choose(choice)
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
    if choice.key == selection.current().model:
        if random:
            st.markdown(random)
        return
    left, line = page.sentence()
    left.markdown(
        f":gray[{selection.choice().shown} has no {lacks}; this is] {choice.shown}. {random}".strip()
    )
    line.button(button, key=key, on_click=choose, args=(choice,))


def choose(choice: ModelChoice) -> None:
    """Makes the model that stands in the sidebar's, and with it a picture of its own set; call it in a callback."""
    selection.set_model(choice.key)
    kept = session_keys.kept().get("image")  # of a picture that nobody chose the model decides
    if isinstance(kept, str) and (own := _fitting(choice, kept)) != kept:
        selection.set_image(own)


def picture(choice: ModelChoice) -> tuple[str, str]:
    """(key of the picture that a model is shown with, a sentence that says so where it is not the chosen one).

    The chosen one where the visitor brought it, chose it for this very model, or it is of the set that the model
    learned from; else one of that set, or of the nearest that is here.
    """
    image = selection.current().image
    colour = choice.preparation.in_chans == 3
    if choice.key == selection.current().model and (
        image.startswith(cached.UPLOAD) or cached.in_colour(image) == colour
    ):
        return image, ""
    own = _fitting(choice, image)
    if own == image:
        return image, ""
    name, _, index = own.partition(":")
    data = cached.dataset(name)
    label = "" if data.test_labels is None else f", {data.classes[int(data.test_labels[int(index)])]}"
    return own, (
        "This model never learned from pictures like the chosen one; here stands"
        f" **{note_of(name).title} {int(index):,}{label}** in its place."
    )


def picture_or_own(choice: ModelChoice, key: str, them: str = "this model") -> str:
    """The key of the picture that is shown, said above it where it is not the chosen one, with a way back to that.

    Args:
        choice: the model that is shown.
        key: of the control for the chosen picture.
        them: what the sentence calls who is shown: 'these models'.
    """
    image, said = picture(choice)
    if not said:
        return image
    left, line = page.sentence()
    with line:
        own = widgets.toggle(key, "The chosen one")
    who = them[:1].upper() + them[1:]
    only = f"{who} never learned from pictures like the chosen one."
    left.markdown(f":gray[{only if own else said.replace('This model', who, 1)}]")
    return selection.current().image if own else image


def _fitting(choice: ModelChoice, image: str) -> str:
    """A picture if a model may be shown with it: an upload, a photo before a model of colour, one of its own set; else
    that of the same number of its own set, or of the nearest that is here, and the first for the first."""
    kind, _, number = image.partition(":")
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    if kind == "upload" or {kind, tested(kind)} & {choice.trained_on, name}:
        return image
    if kind == "sample" and choice.preparation.in_chans == 3:
        return image
    is_first = not number.isdecimal() or int(number) == first_number(kind)
    return f"{name}:{first_number(name) if is_first else int(number) % cached.examples(name)}"


def take_its_picture(choice: ModelChoice) -> None:
    """Shows all of the page a picture of the set that its model learned from, where the model was not chosen.

    It says so; the sidebar and the link keep the chosen one.
    """
    if choice.key == selection.current().model:
        return
    image, said = picture(choice)
    if said:
        selection.look_at(image)
        st.markdown(f":gray[{said}]")
