"""Draw the button of published weights: select, download or cancel, with the download's progress."""

from collections.abc import Callable

import streamlit as st

from pages.selection.own_weights_form import get_upload_limit_mb
from pages.stores import published_weights, session
from vitviz.models.published_weights import Offer

_POLL_S = 0.5
_WAITING = (
    "_waiting_for_weights"  # str: name of the weights that this session selects once they are downloaded
)


def draw(offer: Offer, place: str, select: Callable[[str], None], *, selects_when_done: bool = True) -> None:
    """Draw one button for an offer.

    Args:
        offer: published weights.
        place: prefix of the widgets' keys.
        select: called with the name to select the downloaded model.
        selects_when_done: select it as soon as a download that was started here ends.
    """
    if offer.cached is not None:
        if selects_when_done and st.session_state.get(_WAITING) == offer.name:
            del st.session_state[_WAITING]
            select(offer.name)
            st.rerun()
        st.button(
            "Select",
            icon=":material/visibility:",
            on_click=select,
            args=(offer.name,),
            key=f"{place}._show.{offer.name}",
        )
        return
    if not published_weights.are_downloads_allowed():
        st.caption(
            f"Downloads are switched off on this server. Its operator adds these weights with `{offer.command}`."
        )
        return
    active = _is_downloading(offer.name)
    st.fragment(_draw_download, run_every=_POLL_S if active else None)(offer.name, place, active)


def _is_downloading(name: str) -> bool:
    download = published_weights.get_download(name)
    return download is not None and not download.finished


def _start_download(name: str) -> None:
    st.session_state[_WAITING] = name
    published_weights.start_download(name, session.get_current().token)


def _draw_download(name: str, place: str, was_active: bool) -> None:
    """Draw the download's progress; rerun the page when it starts or ends."""
    if _is_downloading(name) != was_active:
        st.rerun()
    download = published_weights.get_download(name)
    is_own = download is not None and session.get_current().token in download.users
    if download is None or download.finished:
        if download is not None and download.error and is_own:
            can_upload = download.unreachable and published_weights.is_uploadable(name, get_upload_limit_mb())
            hint = f" {published_weights.UPLOAD_HINT}" if can_upload else ""
            st.warning(f"{download.error}{hint}", icon=":material/cloud_off:")
        st.button(
            "Download",
            icon=":material/download:",
            on_click=_start_download,
            args=(name,),
            key=f"{place}._fetch.{name}",
        )
        return
    done, total = download.done_bytes / 1e6, (download.total_bytes or 0) / 1e6
    label = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB"
    st.progress(min(1.0, done / total) if total else 0.0, label)
    if is_own:
        st.button(
            "Cancel", icon=":material/close:", on_click=download.stop.set, key=f"{place}._cancel.{name}"
        )
