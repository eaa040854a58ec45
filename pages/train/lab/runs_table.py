"""The visit's runs side by side, and what can be done with one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.frame import page
from pages.selection import upload
from pages.stores import runs, session
from pages.train.lab import fields, keys, race, recipe_form, run_view, settings
from vitviz.analysis.milestones import time_to
from vitviz.text import percent, plain, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

MOST_UPLOAD_MB = 64


def draw(mine: list[Run]) -> None:
    """One row per model: how it stands, how well it does, and only those settings that differ."""
    models = [model for run in mine for model in runs.models_of(run)]
    configs = [run.config() for run in models]
    names = settings.unlike(*configs)
    rows = []
    for run, config in zip(models, configs, strict=True):
        has = settings.of(config)
        rows.append(_result(run) | {name: settings.said(name, has.get(name)) for name in names})
    st.dataframe(
        page.styled(rows, dict.fromkeys(("validation", "test"), percent)),
        hide_index=True,
        width="stretch",
        placeholder=page.MISSING,
        column_config={
            "validation": st.column_config.NumberColumn("Best validation"),
            "test": st.column_config.NumberColumn("Test"),
            "to_95": st.column_config.NumberColumn("95 % after, s", format="%.1f"),
            "seconds": st.column_config.NumberColumn("Seconds", format="%.1f"),
            "step": st.column_config.NumberColumn("Steps", format="localized"),
            **{name: st.column_config.Column(settings.title(name)) for name in names},
        },
    )
    if len(models) > 1:
        what = "; ".join(map(fields.label, names)) if names else "nothing"
        st.caption(f"Only settings that differ are listed: {what}.")


def _result(run: Run) -> dict[str, Any]:
    status, log = runs.status(run), runs.log(run.id).read()
    table, best = log.validation(), log.best()
    return {
        "Run": runs.title(run),
        "State": run_view.state(status).word,
        "step": status.step,
        "seconds": status.seconds,
        "validation": None if best is None else best[1],
        "test": None if log.test is None else log.test["accuracy"],
        "to_95": time_to((0.95,), table[-1], table[2])[0] if table.shape[1] else None,
    }


def manage(run: Run, shown: Callable[[str], None]) -> None:
    """Rename, duplicate, delete, download and upload; `shown` brings a run onto the stage."""
    config, status = run.config(), runs.status(run)
    mine = runs.may_change(session.current(), run)
    columns = st.columns([2, 1.3, 1.3, 1.3, 1.3], vertical_alignment="bottom")
    with columns[0]:
        key = f"live_lab._name_{run.id}"
        st.text_input(
            "Name", config.name, key=key, max_chars=80, on_change=_rename, args=(run, key), disabled=not mine
        )
    with columns[1]:
        st.button(
            "Copy settings",
            icon=":material/content_copy:",
            width="stretch",
            help="Sets the controls above to this run's: change what you like, then start a new run.",
            on_click=_copy,
            args=(run,),
        )
    with columns[2]:
        _download(run, config, status.active)
    with columns[3], st.popover("Upload", icon=":material/upload:", width="stretch"):
        _upload(shown)
    with columns[4], st.popover("Delete", icon=":material/delete:", width="stretch", disabled=status.active):
        if mine:
            st.markdown("Its records and snapshots are removed for good.")
        else:
            st.markdown("It is another visit's: it leaves your table, and stays where it is.")
        label = "Delete this run" if mine else "Take it out of my table"
        st.button(label, key="live_lab._delete", on_click=_delete, args=(run,))
    if mine:
        _share(run)


def _share(run: Run) -> None:
    """The link that lets others change the run, made and taken back by who may change it."""
    with st.popover("Share for editing", icon=":material/group_add:"):
        st.markdown(
            "The page's own link shows this run to whoever has it. A link made here also lets them pause, stop,"
            " rename and delete it, until you take it back."
        )
        made = st.session_state.get(keys.SHARED)
        st.button("Make a link for editing", key="live_lab._share", on_click=_make_key, args=(run,))
        if made is not None and made[0] == run.id:
            page.source(f"live_lab?live_lab.run={run.id}&live_lab.edit={made[1]}")
        if runs.is_shared(run):
            st.button("Take it back", key="live_lab._unshare", on_click=_take_back, args=(run,))


def _make_key(run: Run) -> None:
    if runs.may_change(session.current(), run):
        try:
            st.session_state[keys.SHARED] = (run.id, runs.share(run))
        except OSError as error:
            keys.notice(f"It could not be shared ({reason(error)}).")


def _take_back(run: Run) -> None:
    if runs.may_change(session.current(), run):
        try:
            runs.unshare(run)
        except OSError as error:
            keys.notice(f"It is still shared, for that could not be written ({reason(error)}).")
        else:
            st.session_state.pop(keys.SHARED, None)


def _rename(run: Run, key: str) -> None:
    if not runs.may_change(session.current(), run):
        return
    try:
        run.rename(st.session_state[key])
    except OSError as error:
        keys.notice(f"The name could not be kept ({reason(error)}).")


def _copy(run: Run) -> None:
    try:
        config = run.config()
    except ValueError as error:  # another visit has deleted it
        keys.notice(f"Its settings cannot be copied: {error}.")
        return
    if not race.fill(config):
        recipe_form.fill(config.model, config.train, config.preset)


def _delete(run: Run) -> None:
    from vitviz.training.run_directory import RunError

    try:
        if runs.may_change(session.current(), run):
            run.delete()
    except RunError as error:
        keys.notice(f"{error}.")
        return
    except OSError as error:
        keys.notice(f"It could not be removed ({reason(error)}).")
        return
    runs.drop(session.current(), run.id)


def _download(run: Run, config: RunConfig, active: bool) -> None:
    from vitviz.training.archive import export_run

    st.download_button(
        "Download",
        data=lambda: export_run(run),
        file_name=f"{run.id}.zip",
        mime="application/zip",
        icon=":material/download:",
        width="stretch",
        disabled=active,
        on_click="ignore",
        help=f"A zip of {plain(config.name)}: config, records, every snapshot. Stop or finish it first."
        if active
        else None,
    )


def upload_only(shown: Callable[[str], None]) -> None:
    """The uploader for a visit that has no run yet."""
    with st.popover("Upload a run", icon=":material/upload:"):
        _upload(shown)


def _upload(shown: Callable[[str], None]) -> None:
    from vitviz.training.run_directory import RunError

    turn = st.session_state.setdefault("live_lab._turn", 0)
    key = f"live_lab._upload_{turn}"
    st.file_uploader(
        "A run that was downloaded here or elsewhere", type=["zip"], key=key, max_upload_size=MOST_UPLOAD_MB
    )
    file = upload.take(key)
    if file is None:
        return
    from vitviz.training.archive import import_run

    st.session_state["live_lab._turn"] = turn + 1
    try:
        runs.admit_upload(session.current(), session.address())
        run = import_run(runs.folder(), file.data, owner=session.current().owner, lease_s=runs.LEASE_S)
    except (RunError, ValueError) as error:
        keys.notice(f"This file cannot be used: {error}.")
    except OSError as error:
        keys.notice(f"The run could not be stored ({reason(error)}).")
    else:
        runs.adopt(session.current(), run.id)
        shown(run.id)
    st.rerun()


def fresh(config: RunConfig) -> RunConfig:
    """The config under a name that no run of this visit has."""
    taken = {run.config().name for run in runs.mine(session.current())}
    names = (config.name if i == 1 else f"{config.name} {i}" for i in range(1, 1000))
    return replace(config, name=next(name for name in names if name not in taken))
