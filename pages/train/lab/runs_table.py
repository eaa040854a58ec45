"""Draw the table of the user's runs, and rename, copy, share, download, upload and delete them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import downloads, listing
from pages.frame import page, run_start, run_state
from pages.selection import upload
from pages.stores import recorded_runs, runs, session
from pages.train.lab import lab_controls, race, recipe_form, running_page, settings
from vitviz.analysis.run_comparison import time_to_accuracy
from vitviz.text import percent, plain, reason
from vitviz.training import permissions
from vitviz.upload_limits import RUN_ZIP_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run


def draw(visit_runs: list[Run]) -> None:
    """Draw one row per model: state, accuracies, and only those settings that differ."""
    models = [model for run in visit_runs for model in runs.list_models(run)]
    configs = [run.config() for run in models]
    names = settings.find_differences(*configs)
    rows = []
    for run, config in zip(models, configs, strict=True):
        run_settings = settings.collect_settings(config)
        rows.append(
            _build_row(run) | {name: settings.format_setting(name, run_settings.get(name)) for name in names}
        )
    st.dataframe(
        page.style_table(rows, dict.fromkeys(("validation", "test"), percent)),
        hide_index=True,
        width="stretch",
        placeholder=page.MISSING,
        column_config={
            "validation": st.column_config.NumberColumn("Best validation"),
            "test": st.column_config.NumberColumn("Test"),
            "to_95": st.column_config.NumberColumn("95 % after, s", format="%.1f"),
            "seconds": st.column_config.NumberColumn("Training time, s", format="%.1f"),
            "step": st.column_config.NumberColumn("Steps", format="localized"),
            **{name: st.column_config.Column(settings.get_title(name)) for name in names},
        },
    )
    downloads.csv(
        "All runs (CSV)",
        {name: [row[name] for row in rows] for name in rows[0]},
        "runs.csv",
        "live_lab.runs_csv",
    )
    if len(models) > 1:
        differing = "; ".join(map(settings.get_title, names)) if names else "none"
        st.caption(f"Differing settings: {differing}.")


def _build_row(run: Run) -> dict[str, Any]:
    status, log = runs.read_status(run), runs.open_log(run.id).read()
    table, best = log.validation(), log.best()
    return {
        "Run": runs.get_title(run),
        "State": run_state.get_state_label(status).word,
        "step": status.step,
        "seconds": status.seconds,
        "validation": None if best is None else best[1],
        "test": None if log.test is None else log.test["accuracy"],
        "to_95": time_to_accuracy(table[2], table[-1], 0.95),
    }


def draw_actions(run: Run, show_run: Callable[[str], None]) -> None:
    """Draw the fields and buttons that rename, copy, download, upload, delete and share a run."""
    config, status = run.config(), runs.read_status(run)
    editable = runs.may_change(session.get_current(), run)
    columns = st.columns([2, 1.3, 1.3, 1.3, 1.3], vertical_alignment="bottom")
    with columns[0]:
        key = f"live_lab._name_{run.id}"
        st.text_input(
            "Name",
            config.name,
            key=key,
            max_chars=80,
            on_change=_rename_run,
            args=(run, key),
            disabled=not editable,
            help=None if editable else "Disabled: only its owner can rename the run.",
        )
    with columns[1]:
        st.button(
            "Copy settings",
            icon=":material/content_copy:",
            width="stretch",
            help="Fills the form above with this run's settings.",
            on_click=_copy_settings,
            args=(run,),
        )
    with columns[2]:
        _draw_download(run, config, status.active)
    with columns[3], st.popover("Upload", icon=":material/upload:", width="stretch"):
        _draw_uploader(show_run)
    stop_first = "Disabled: stop the run first." if status.active else None
    delete = st.popover(
        "Delete", icon=":material/delete:", width="stretch", disabled=status.active, help=stop_first
    )
    with columns[4], delete:
        if editable:
            st.markdown("This deletes its records and snapshots permanently.")
        else:
            st.markdown("This run belongs to another session: it leaves your table but is not deleted.")
        label = "Delete this run" if editable else "Remove from my table"
        st.button(label, key="live_lab._delete", on_click=_delete_run, args=(run,))
    if editable:
        with st.container(horizontal=True):
            _draw_sharing(run)
            running_page.draw(run)


def _draw_sharing(run: Run) -> None:
    """Draw the popover that creates and revokes a link for editing."""
    with st.popover("Share for editing", icon=":material/group_add:"):
        st.markdown(
            "The page's own link only shows this run. An editing link also allows pausing, stopping, renaming and"
            " deleting it, until you revoke it."
        )
        edit_key = st.session_state.get(lab_controls.EDIT_KEY)
        st.button("Create an editing link", key="live_lab._share", on_click=_create_edit_link, args=(run,))
        if edit_key is not None and edit_key[0] == run.id:
            listing.source(f"live_lab?live_lab.run={run.id}&live_lab.edit={edit_key[1]}")
        if permissions.is_shared(run):
            st.button("Revoke editing", key="live_lab._unshare", on_click=_revoke_edit_link, args=(run,))


def _create_edit_link(run: Run) -> None:
    if runs.may_change(session.get_current(), run):
        try:
            st.session_state[lab_controls.EDIT_KEY] = (run.id, permissions.share(run))
        except OSError as error:
            run_start.set_notice(f"The run could not be shared ({reason(error)}).")


def _revoke_edit_link(run: Run) -> None:
    if runs.may_change(session.get_current(), run):
        try:
            permissions.unshare(run)
        except OSError as error:
            run_start.set_notice(f"Editing could not be revoked ({reason(error)}).")
        else:
            st.session_state.pop(lab_controls.EDIT_KEY, None)


def _rename_run(run: Run, key: str) -> None:
    if not runs.may_change(session.get_current(), run):
        return
    try:
        run.rename(st.session_state[key])
    except OSError as error:
        run_start.set_notice(f"The name could not be saved ({reason(error)}).")


def _copy_settings(run: Run) -> None:
    try:
        config = run.config()
    except ValueError as error:  # another session has deleted the run
        run_start.set_notice(f"The settings could not be copied: {error}.")
        return
    if not race.fill_form(config):
        recipe_form.fill_form(config.model, config.train, config.preset)


def _delete_run(run: Run) -> None:
    from vitviz.training.run_directory import RunError

    try:
        if runs.may_change(session.get_current(), run):
            run.delete()
    except RunError as error:
        run_start.set_notice(f"{error}.")
        return
    except OSError as error:
        run_start.set_notice(f"The run could not be deleted ({reason(error)}).")
        return
    runs.drop_run(session.get_current(), run.id)


def _draw_download(run: Run, config: RunConfig, active: bool) -> None:
    from vitviz.training.run_archive import export_run

    st.download_button(
        "Download",
        data=lambda: export_run(run),
        file_name=f"{run.id}.zip",
        mime="application/zip",
        icon=":material/download:",
        width="stretch",
        disabled=active,
        on_click="ignore",
        help=f"Zip of {plain(config.name)} with config, records and snapshots; stop the run first."
        if active
        else None,
    )


def draw_upload(show_run: Callable[[str], None]) -> None:
    """Draw the uploader for a session without runs of its own."""
    with st.popover("Open a recorded run", icon=":material/upload:"):
        _draw_uploader(show_run)


def _draw_uploader(show_run: Callable[[str], None]) -> None:
    from vitviz.training.run_directory import RunError

    file = upload.receive_zip("live_lab._upload", "Zip of a downloaded run", RUN_ZIP_BYTES)
    st.caption("Or the zip of a folder that `vitviz.record` wrote in your own loop.")
    if file is None:
        return
    try:
        runs.admit_upload(session.get_current(), session.get_address())
        show_run(_store_upload(file.data))
    except (RunError, ValueError) as error:
        run_start.set_notice(f"The file could not be imported: {error}.")
    except OSError as error:
        run_start.set_notice(f"The run could not be stored ({reason(error)}).")
    st.rerun()


def _store_upload(zip_bytes: bytes) -> str:
    """Store an uploaded run; return its id, or the key of a recorded run.

    Raises:
        RunError, ValueError: if the file is invalid.
        OSError: if it cannot be written.
    """
    from vitviz.recorded_run_archive import is_recorded_zip
    from vitviz.training.run_archive import import_run

    user = session.get_current()
    if is_recorded_zip(zip_bytes):
        return recorded_runs.store_upload(user, zip_bytes)
    run = import_run(runs.get_folder(), zip_bytes, owner=user.owner, lease_s=runs.LEASE_S)
    runs.adopt_run(user, run.id)
    return run.id


def make_name_unique(config: RunConfig) -> RunConfig:
    taken = {run.config().name for run in runs.list_runs(session.get_current())}
    names = (config.name if i == 1 else f"{config.name} {i}" for i in range(1, 1000))
    return replace(config, name=next(name for name in names if name not in taken))
