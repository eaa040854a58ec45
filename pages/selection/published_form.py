"""Draw the list of published weights with buttons to download and select them."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.selection import selection
from pages.selection.own_weights_form import get_upload_limit_mb
from pages.stores import published
from vitviz.models.download import weights_folder
from vitviz.models.published_weights import SMALL, Offer, list_weights
from vitviz.text import plain

_POLL_S = 0.5


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
        _draw_row(by_name[name])
    with st.container(border=True):
        name = st.selectbox(
            "Other model", others, format_func=lambda key: _label_offer(by_name[key]), key="published._name"
        )
        _draw_offer(by_name[name])


def _label_offer(offer: Offer) -> str:
    return f"{offer.title} · {offer.megabytes:,.0f} MB"


def _draw_row(offer: Offer) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(offer.title)}** · {offer.megabytes:,.0f} MB")
        _draw_offer(offer)


def _draw_offer(offer: Offer) -> None:
    """Draw the offer's provenance and one button: select, download or cancel."""
    licence = f" ({plain(offer.licence)})" if offer.licence else ""
    st.caption(
        f"{plain(offer.knows)}; trained on {plain(offer.trained_on)}; source: {plain(offer.source)}{licence}"
    )
    if offer.cached is not None:
        st.button(
            "Select",
            icon=":material/visibility:",
            on_click=_select_model,
            args=(offer.name,),
            key=f"published._show.{offer.name}",
        )
        return
    if not published.are_downloads_allowed():
        st.caption(
            f"Downloads are switched off on this server. Its operator adds these weights with `{offer.command}`."
        )
        return
    active = _is_downloading(offer.name)
    st.fragment(_draw_download, run_every=_POLL_S if active else None)(offer.name, active)


def _select_model(name: str) -> None:
    key = f"{published.KEY}{name}"
    if key in selection.refresh_models():
        selection.set_model(key)
        st.session_state[session_keys.MODEL_DIALOG] = False


def _is_downloading(name: str) -> bool:
    download = published.get_download(name)
    return download is not None and not download.finished


def _draw_download(name: str, was_active: bool) -> None:
    """Draw the download's progress; rerun the page when it starts or ends."""
    if _is_downloading(name) != was_active:
        st.rerun()
    download = published.get_download(name)
    if download is None or download.finished:
        if download is not None and download.error:
            can_upload = download.unreachable and published.is_uploadable(name, get_upload_limit_mb())
            hint = f" {published.UPLOAD_HINT}" if can_upload else ""
            st.warning(f"{download.error}{hint}", icon=":material/cloud_off:")
        st.button(
            "Download",
            icon=":material/download:",
            on_click=published.start_download,
            args=(name,),
            key=f"published._fetch.{name}",
        )
        return
    done, total = download.done_bytes / 1e6, (download.total_bytes or 0) / 1e6
    label = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB"
    st.progress(min(1.0, done / total) if total else 0.0, label)
    st.button("Cancel", icon=":material/close:", on_click=download.stop.set, key=f"published._cancel.{name}")
