"""Offer photo models for the user's image: one click downloads a model, selects it and opens its last layer."""

import streamlit as st

from pages.controls import session_keys, widgets
from pages.frame import registry
from pages.selection import download_button, model_dialog, selection
from pages.stores import published
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.models.published_weights import SMALL, WITHOUT_HUB, describe_weights
from vitviz.pin import Pin
from vitviz.text import plain

OFFERED = (SMALL[0], WITHOUT_HUB)  # the smallest of the model hub, and one that needs no hub
HEAD = "attention.head"


def is_photo_model(choice: ModelChoice) -> bool:
    return choice.key.startswith(published.KEY)


def find_photo_model(need: str) -> ModelChoice | None:
    """Return the first downloaded photo model that has an ability, small ones first."""
    models = selection.list_models()
    for name in SMALL:
        choice = models.get(f"{published.KEY}{name}")
        if choice is not None and getattr(abilities(choice.config), need):
            return choice
    return None


def draw() -> None:
    """Draw the offered models with their size, source and what they know, one button each."""
    st.markdown("**See it with a photo model**")
    for name in OFFERED:
        offer = describe_weights(PRETRAINED[name])
        licence = f" ({plain(offer.licence)})" if offer.licence else ""
        st.caption(
            f"**{plain(offer.title)}**: {plain(offer.knows)}; {offer.megabytes:,.0f} MB from"
            f" {plain(offer.source)}{licence}."
        )
        download_button.draw(offer, "offer", open_model)
    model_dialog.draw_published_button("nouns.published_offer")


def open_model(name: str) -> None:
    """Select a photo model at its last layer, with [CLS] as query and the page's default head."""
    key = f"{published.KEY}{name}"
    models = selection.refresh_models()
    if key not in models:
        return
    selection.set_model(key)
    values = session_keys.get_control_values()
    values["pin"] = Pin(None, "cls")
    for control in (HEAD, session_keys.PREVIOUS_MODEL):
        values.pop(control, None)
        st.session_state.pop(control, None)
    config = models[key].config
    if abilities(config).blocks:
        for entry in registry.PAGES:
            if entry.layer:
                widgets.set_control(entry.layer, as_vit(config).depth)
