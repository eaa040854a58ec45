"""Draw the list of published weights with buttons to download and select them."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.selection import download_button, selection
from pages.stores import published
from vitviz.models.download import weights_folder
from vitviz.models.published_weights import SMALL, Offer, list_weights
from vitviz.text import plain


def draw() -> None:
    """Draw small models as rows, and the others in one list."""
    by_name = {offer.name: offer for offer in list_weights()}
    others = [name for name in by_name if name not in SMALL]
    st.markdown("**Photos: published models**")
    st.caption(
        "Published by their authors, for photos of at least 224 px. Each is downloaded once to this server,"
        f" into {plain(str(weights_folder()))}."
    )
    for name in SMALL:
        with st.container(border=True):
            st.markdown(f"**{plain(by_name[name].title)}** · {by_name[name].megabytes:,.0f} MB")
            _draw_offer(by_name[name])
    labels = {name: f"{by_name[name].title} · {by_name[name].megabytes:,.0f} MB" for name in others}
    with st.container(border=True):
        name = st.selectbox("Other model", others, format_func=labels.__getitem__, key="published._name")
        _draw_offer(by_name[name])


def _draw_offer(offer: Offer) -> None:
    """Draw the offer's provenance and one button: select, download or cancel."""
    licence = f" ({plain(offer.licence)})" if offer.licence else ""
    st.caption(
        f"{plain(offer.knows)}; trained on {plain(offer.trained_on)}; source: {plain(offer.source)}{licence}"
    )
    download_button.draw(offer, "published", _select_model, selects_when_done=False)


def _select_model(name: str) -> None:
    key = f"{published.KEY}{name}"
    if key in selection.refresh_models():
        selection.set_model(key)
        st.session_state[session_keys.MODEL_DIALOG] = False
