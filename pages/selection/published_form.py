"""The part of a dialog that lists published weights, fetches them, and shows those that are here."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.selection import selection
from pages.stores import published
from vitviz.models.download import weights_folder
from vitviz.models.published_weights import SMALL, Offer, offers
from vitviz.text import plain

_POLL_S = 0.5


def draw() -> None:
    """The small ones that show most, one by one, and a list of the others."""
    found = {offer.name: offer for offer in offers()}
    others = [name for name in found if name not in SMALL]
    st.markdown("**Photos: ImageNet models**")
    st.caption(
        "As their authors published them, for photos of 224 px and more. Each is fetched once and kept on this server,"
        f" in {plain(str(weights_folder()))}."
    )
    for name in SMALL:
        _row(found[name])
    with st.container(border=True):
        name = st.selectbox(
            "Another", others, format_func=lambda key: _line(found[key]), key="published._name"
        )
        _fetched(found[name])


def _line(offer: Offer) -> str:
    return f"{offer.title} · {offer.megabytes:,.0f} MB"


def _row(offer: Offer) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(offer.title)}** · {offer.megabytes:,.0f} MB")
        _fetched(offer)


def _fetched(offer: Offer) -> None:
    """What it knows and from where, then the one thing to do: show it, fetch it, or wait for it."""
    host = offer.url.split("/")[2]
    st.caption(f"{plain(offer.knows)}; learned from {plain(offer.trained_on)}; published at {plain(host)}")
    if offer.cached is not None:
        st.button(
            "Show it",
            icon=":material/visibility:",
            on_click=_show,
            args=(offer.name,),
            key=f"published._show.{offer.name}",
        )
        return
    active = _active(offer.name)
    st.fragment(_watch, run_every=_POLL_S if active else None)(offer.name, active)


def _show(name: str) -> None:
    key = f"{published.KEY}{name}"
    if key in selection.models_now():
        selection.set_model(key)
        st.session_state[session_keys.MORE] = False


def _active(name: str) -> bool:
    fetch = published.progress(name)
    return fetch is not None and not fetch.finished


def _watch(name: str, was_active: bool) -> None:
    """Runs the page once more when a download begins or ends: only the page decides how often this part looks."""
    if _active(name) != was_active:
        st.rerun()
    fetch = published.progress(name)
    if fetch is None or fetch.finished:
        if fetch is not None and fetch.error:
            st.warning(fetch.error, icon=":material/cloud_off:")
        st.button(
            "Fetch",
            icon=":material/download:",
            on_click=published.start,
            args=(name,),
            key=f"published._fetch.{name}",
        )
        return
    done, total = fetch.done_bytes / 1e6, (fetch.total_bytes or 0) / 1e6
    words = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB"
    st.progress(min(1.0, done / total) if total else 0.0, words)
    st.button("Cancel", icon=":material/close:", on_click=fetch.stop.set, key=f"published._cancel.{name}")
