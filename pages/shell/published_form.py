"""The part of the sidebar that fetches published weights."""

from __future__ import annotations

import streamlit as st

from pages.stores import published
from vitviz.models.pretrained_list import PRETRAINED


def draw() -> None:
    """Fetches one of the listed weights; it then stands in the list of models."""
    present = {entry.name for entry in published.here()}
    missing = [name for name in PRETRAINED if name not in present]
    st.markdown("**Published weights**")
    if not missing:
        st.caption("All listed weights are here: choose them in the list of models.")
        return
    name = st.selectbox(
        "Model", missing, format_func=lambda key: PRETRAINED[key].title, key="published._name"
    )
    _progress(name)
    st.caption("As their authors published them; fetched once and kept on this machine.")


def _progress(name: str) -> None:
    running = published.progress(name)
    active = running is not None and not running.finished
    st.fragment(_watch, run_every=0.5 if active else None)(name, active)


def _watch(name: str, was_active: bool) -> None:
    fetch = published.progress(name)
    if fetch is None or fetch.finished:
        if (
            was_active
        ):  # it ended since the page ran: run it once more, so that polling stops and the list is new
            st.rerun()
        if fetch is not None and fetch.error:
            st.warning(fetch.error, icon=":material/cloud_off:")
        st.button(
            "Fetch",
            icon=":material/download:",
            on_click=published.start,
            args=(name,),
            key="published._fetch",
        )
        return
    if not was_active:  # it began since the page ran, which decides whether this part looks again by itself
        st.rerun()
    done, total = fetch.done_bytes / 1e6, (fetch.total_bytes or 0) / 1e6
    words = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB"
    st.progress(min(1.0, done / total) if total else 0.0, words)
    st.button("Cancel", icon=":material/close:", on_click=fetch.stop.set, key="published._cancel")
