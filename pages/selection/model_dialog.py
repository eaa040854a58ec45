"""Draw the dialog with further models: published weights to download and the user's own weights."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.controls import session_keys
from pages.selection import model_usage, own_weights_form, selection
from pages.selection.own_weights_form import get_upload_limit_mb
from pages.stores import hub_jobs, own_weights, published_weights, session
from pages.stores.model_choice import ModelChoice
from vitviz.models.file_download import weights_folder
from vitviz.models.pretrained_list import Pretrained
from vitviz.models.published_weights import SHIPPED, SMALL, explain_missing, find_weights, list_weights
from vitviz.text import plain

_POLL_S = 0.5
_HUB_ID = "hub_form._id"
WAITING = "_waiting_for_weights"  # str: name of the weights that this session selects once downloaded
_PUBLISHED = "Photos: published models"


def draw_hub_form() -> None:
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
            key=_HUB_ID,
            max_chars=300,
            help=f"Public models with safetensors files of at most {limit:,} MB; owner/name@revision for another"
            " branch. Its size is shown before it is downloaded.",
        )
        right.form_submit_button("Look up", on_click=_look_up_hub_model, width="stretch")
    job = hub_jobs.get_job(session.get_current())
    # A rerun of the app would scroll the dialog to its top, so this part polls until the dialog reruns.
    polls = job is not None and not job.error
    st.fragment(_draw_hub_job, run_every=_POLL_S if polls else None)()


def _look_up_hub_model() -> None:
    if hub_id := st.session_state.get(_HUB_ID, "").strip():
        hub_jobs.look_up(session.get_current(), hub_id)


def _draw_hub_job() -> None:
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
    elif job.listed is not None and not job.agreed and not active:
        size = f"{job.listed.nbytes / 1e6:,.1f} MB"
        st.markdown(
            f"**{plain(job.hub_id)}**, commit {job.listed.commit[:8]}: {size},"
            f" {plain(', '.join(job.listed.files))}"
        )
        st.button(
            f"Download {size}",
            icon=":material/download:",
            key="hub_form._agree",
            on_click=_download_hub_model,
        )
    elif active:
        _draw_hub_progress(job)


def _draw_hub_progress(job: hub_jobs.HubJob) -> None:
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


def _download_hub_model() -> None:
    job = hub_jobs.get_job(session.get_current())
    if job is not None and job.listed is not None and not job.agreed and not job.active:
        job.agreed = True  # before its thread runs: the page is drawn at once
        job.start(hub_jobs.HubJob.download)


def draw_published_models() -> None:
    by_name = {offer.name: offer for offer in list_weights()}
    first = (SHIPPED, *SMALL)
    others = [name for name in by_name if name not in first]
    st.markdown(f"**{_PUBLISHED}**")
    st.caption(
        "Published by their authors, for photos of at least 224 px. The first is part of this app; each other one is"
        f" downloaded once to this server, into {plain(str(weights_folder()))}."
    )
    for name in first:
        with st.container(border=True):
            st.markdown(f"**{plain(by_name[name].title)}** · {by_name[name].megabytes:,.0f} MB")
            _draw_published_offer(by_name[name])
    labels = {name: f"{by_name[name].title} · {by_name[name].megabytes:,.0f} MB" for name in others}
    with st.container(border=True):
        name = st.selectbox("Other model", others, format_func=labels.__getitem__, key="published._name")
        _draw_published_offer(by_name[name])


def _draw_published_offer(offer: Pretrained) -> None:
    """Draw the offer's provenance and one button: select, download or cancel."""
    licence = f" ({plain(offer.licence)})" if offer.licence else ""
    st.caption(
        f"{plain(offer.summary)}; trained on {plain(offer.trained_on)}; source: {plain(offer.source)}{licence}"
    )
    draw_download_button(offer, "published", _select_published_model, selects_when_done=False)


def _select_published_model(name: str) -> None:
    key = f"{published_weights.KEY}{name}"
    if key in selection.refresh_models():
        selection.set_model(key)
        st.session_state[session_keys.MODEL_DIALOG] = ""


def draw_button() -> None:
    _draw_button("Add a model", "add", "nouns.more", "own")


def draw_published_button(key: str) -> None:
    _draw_button(_PUBLISHED, "photo_library", key, "published")


def _draw_button(label: str, icon: str, key: str, first: str) -> None:
    """Draw a button that opens the dialog with one of its two parts first."""
    st.button(label, icon=f":material/{icon}:", key=key, on_click=_set_open, args=(first,), width="stretch")


def draw(chosen: ModelChoice, step: int) -> None:
    """Draw the dialog while it is open; it stays open when a file arrives."""
    if st.session_state.get(session_keys.MODEL_DIALOG):
        close = partial(_set_open, "")
        st.dialog("Add a model", width="medium", on_dismiss=close)(_draw_content)(chosen, step)


def _draw_content(chosen: ModelChoice, step: int) -> None:
    if not st.session_state.get(session_keys.MODEL_DIALOG):  # a model was selected in it
        st.rerun()
    parts: list[Callable[[], None]] = [partial(_draw_own, chosen, step), draw_published_models]
    if st.session_state[session_keys.MODEL_DIALOG] == "published":
        parts.reverse()
    parts[0]()
    st.divider()
    parts[1]()


def _draw_own(chosen: ModelChoice, step: int) -> None:
    own_weights_form.draw()
    draw_hub_form()
    own_weights_form.draw_settings(chosen.key)
    model_usage.draw(chosen, step, "model_dialog")


def _set_open(first: str) -> None:
    st.session_state[session_keys.MODEL_DIALOG] = first


def draw_download_button(
    offer: Pretrained, place: str, select: Callable[[str], None], *, selects_when_done: bool = True
) -> None:
    """Draw one button for an offer.

    Args:
        offer: published weights.
        place: prefix of the widgets' keys.
        select: called with the name to select the downloaded model.
        selects_when_done: select it as soon as a download that was started here ends.
    """
    if find_weights(offer) is not None:
        if selects_when_done and st.session_state.get(WAITING) == offer.name:
            del st.session_state[WAITING]
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
    if offer.name == SHIPPED:
        st.caption(f"{explain_missing(offer)}.")
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
    st.session_state[WAITING] = name
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
