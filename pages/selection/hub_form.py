"""Draw the form that opens a model of the hub by its id: look up, agree to the size, download or cancel."""

from __future__ import annotations

import streamlit as st

from pages.selection import own_weights_form
from pages.stores import hub_jobs, own_weights, session
from vitviz.text import plain

_POLL_S = 0.5
_ID = "hub_form._id"


def draw() -> None:
    limit = hub_jobs.get_limit_mb()
    if not limit:
        st.caption(
            "Models of the hub cannot be opened on this server: its operator has switched downloads off."
        )
        return
    with st.form("hub_form._form", border=False):
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        left.text_input(
            "Or a model id on the Hugging Face Hub",
            placeholder="owner/name",
            key=_ID,
            max_chars=300,
            help=f"Public models with safetensors files of at most {limit:,} MB; owner/name@revision for another"
            " branch. Its size is shown before it is downloaded.",
        )
        right.form_submit_button("Look up", on_click=_look_up, width="stretch")
    job = hub_jobs.get_job(session.get_current())
    # A rerun of the app would scroll the dialog to its top, so this part polls until the dialog reruns.
    polls = job is not None and not job.error
    st.fragment(_draw_job, run_every=_POLL_S if polls else None)()


def _look_up() -> None:
    if hub_id := st.session_state.get(_ID, "").strip():
        hub_jobs.look_up(session.get_current(), hub_id)


def _draw_job() -> None:
    """Draw the state of the user's job, and select its model once that is there."""
    user = session.get_current()
    job = hub_jobs.get_job(user)
    if job is None:
        return
    active, opened = job.is_active(), job.opened
    if opened is not None:
        hub_jobs.cancel(user)
        own_weights_form.select_opened(lambda: own_weights.add_model(user, opened))
        st.rerun()
    elif job.error:
        st.warning(plain(job.error), icon=":material/cloud_off:")
    elif job.listed is not None and not job.agreed:
        size = f"{job.listed.nbytes / 1e6:,.1f} MB"
        st.markdown(
            f"**{plain(job.hub_id)}**, commit {job.listed.commit[:8]}: {size},"
            f" {plain(', '.join(job.listed.files))}"
        )
        st.button(f"Download {size}", icon=":material/download:", key="hub_form._agree", on_click=_download)
    elif active:
        _draw_progress(job)


def _draw_progress(job: hub_jobs.HubJob) -> None:
    total = 0 if job.listed is None else job.listed.nbytes
    if not job.agreed or not total:
        st.progress(0.0, "Looking it up")
    elif job.done_bytes < total:
        st.progress(job.done_bytes / total, f"{job.done_bytes / 1e6:,.1f} of {total / 1e6:,.1f} MB")
    else:
        st.progress(1.0, "Opening the model")
    user = session.get_current()
    st.button(
        "Cancel", icon=":material/close:", key="hub_form._cancel", on_click=hub_jobs.cancel, args=(user,)
    )


def _download() -> None:
    job = hub_jobs.get_job(session.get_current())
    if job is not None and job.listed is not None and not job.active:
        job.start(hub_jobs.HubJob.download)
