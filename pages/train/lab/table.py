"""The visit's runs side by side, and what can be done with one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.shell import received
from pages.stores import runs, visit
from pages.train.lab import fields, keys, race, recipe_form, watch
from vitviz.analysis.comparison import differences
from vitviz.analysis.milestones import parameters_by_part, time_to
from vitviz.config import to_dict
from vitviz.data.own import spoken
from vitviz.words import percent, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from vitviz.config import ModelConfig
    from vitviz.training.runs import Run, RunConfig

MOST_UPLOAD_MB = 64
_KEEPS = {
    "adamw": "AdamW keeps two more numbers",
    "adam": "Adam keeps two more numbers",
    "sgd": "SGD keeps one more number",
    "muon": "Muon keeps one more number (AdamW's part two)",
}
PERCENT = "%g\N{NO-BREAK SPACE}%%"  # of numbers that are rounded to one digit: 98.5 %, 100 %


def draw(mine: list[Run]) -> None:
    """One row per model: how it stands, how well it does, and only those settings that differ."""
    import pandas as pd

    models = [model for run in mine for model in runs.models_of(run)]
    settings = [_settings(run.config()) for run in models]
    names = [name for name in differences(settings) if name != "kind"]
    rows = []
    for run, setting in zip(models, settings, strict=True):
        shown = {name: _brief(setting.get(name)) for name in names}
        rows.append(_result(run) | shown)
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        width="stretch",
        placeholder="–",
        column_config={
            "validation": st.column_config.NumberColumn("Best validation", format=PERCENT),
            "test": st.column_config.NumberColumn("Test", format=PERCENT),
            "to_95": st.column_config.NumberColumn("95 % after, s", format="%.1f"),
            "seconds": st.column_config.NumberColumn("Seconds", format="%.1f"),
            "step": st.column_config.NumberColumn("Steps", format="localized"),
            **{name: st.column_config.Column(fields.label(name).capitalize()) for name in names},
        },
    )
    if len(models) > 1:
        what = "; ".join(map(fields.label, names)) if names else "nothing"
        st.caption(f"Only settings that differ are listed: {what}.")


def unlike(one: RunConfig, other: RunConfig) -> list[str]:
    """Names of the settings in which two configs differ."""
    return differences([_settings(one), _settings(other)])


def _settings(config: RunConfig) -> dict[str, Any]:
    model, train = to_dict(config.model), to_dict(config.train)
    return {"model": model.pop("kind")} | model | {k: v for k, v in train.items() if k != "kind"}


def _brief(value: Any) -> str:
    return "–" if value is None else spoken(str(value))


def _result(run: Run) -> dict[str, Any]:
    status, log = runs.status(run), runs.log(run.id).read()
    table, best = log.validation(), log.best()
    return {
        "Run": runs.title(run),
        "State": status.state,
        "step": status.step,
        "seconds": status.seconds,
        "validation": None if best is None else round(100 * best[1], 1),
        "test": None if log.test is None else round(100 * log.test["accuracy"], 1),
        "to_95": time_to((0.95,), table[-1], table[2])[0] if table.shape[1] else None,
    }


def manage(run: Run, shown: Callable[[str], None]) -> None:
    """Rename, duplicate, delete, download and upload; `shown` brings a run onto the stage."""
    config, status = run.config(), runs.status(run)
    columns = st.columns([2, 1.3, 1.3, 1.3, 1.3], vertical_alignment="bottom")
    with columns[0]:
        key = f"live_lab._name_{run.id}"
        st.text_input("Name", config.name, key=key, max_chars=80, on_change=_rename, args=(run, key))
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
        st.markdown("Its records and snapshots are removed for good.")
        st.button("Delete this run", key="live_lab._delete", on_click=_delete, args=(run,))


def _rename(run: Run, key: str) -> None:
    try:
        run.rename(st.session_state[key])
    except OSError as error:
        keys.notice(f"The name could not be kept ({error.strerror or error}).")


def _copy(run: Run) -> None:
    try:
        config = run.config()
    except ValueError as error:  # another visit has deleted it
        keys.notice(f"Its settings cannot be copied: {error}.")
        return
    if not race.fill(config):
        recipe_form.fill(config.model, config.train, config.preset)


def _delete(run: Run) -> None:
    from vitviz.training.runs import RunError

    try:
        run.delete()
    except RunError as error:
        keys.notice(f"{error}.")
        return
    runs.drop(visit.current(), run.id)


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
    from vitviz.training.runs import RunError

    turn = st.session_state.setdefault("live_lab._turn", 0)
    key = f"live_lab._upload_{turn}"
    st.file_uploader(
        "A run that was downloaded here or elsewhere", type=["zip"], key=key, max_upload_size=MOST_UPLOAD_MB
    )
    file = received.take(key)
    if file is None:
        return
    from vitviz.training.archive import import_run

    st.session_state["live_lab._turn"] = turn + 1
    try:
        run = import_run(runs.folder(), file.data, owner=visit.current().owner, lease_s=runs.LEASE_S)
    except (RunError, ValueError, OSError) as error:
        keys.notice(f"This file cannot be used: {error}.")
    else:
        runs.adopt(visit.current(), run.id)
        shown(run.id)
    st.rerun()


def numbers(run: Run) -> None:
    """What a teacher points at: where the parameters sit, tokens, memory, speed, time to an accuracy."""
    import pandas as pd

    config, status, log = run.config(), run.status(), runs.log(run.id).read()
    parts = parameters_by_part(parameter_shapes(config.model))
    total = sum(parts.values())
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Parameters: {total:,}**")
        table = pd.DataFrame({"Part": list(parts), "Parameters": list(parts.values())})
        table["Share"] = (100 * table["Parameters"] / max(1, total)).round(1)
        st.dataframe(
            table,
            hide_index=True,
            width="stretch",
            column_config={
                "Parameters": st.column_config.NumberColumn(format="localized"),
                "Share": st.column_config.NumberColumn(format=PERCENT),
            },
        )
    with right:
        curve = log.validation()
        times = time_to(watch.LEVELS, curve[-1], curve[2]) if curve.shape[1] else [None] * len(watch.LEVELS)
        facts = {"Tokens in the sequence": _tokens(config.model)}
        facts["Weights, fp32"] = f"{4 * total / 2**20:.2f} MiB; {_KEEPS[config.train.optimizer]} for each"
        facts["Images per second"] = f"{status.images_per_second:,.0f}" if status.images_per_second else "–"
        for level, at in zip(watch.LEVELS, times, strict=True):
            facts[f"{percent(level, 0)} validation accuracy"] = (
                "not reached" if at is None else f"after {watch.clock(at)}"
            )
        st.markdown("**Numbers to point at**")
        st.dataframe(pd.DataFrame(facts.items(), columns=["What", "Value"]), hide_index=True, width="stretch")
    _csv(run, log)


def _tokens(model: ModelConfig) -> str:
    if model.kind != "vit":
        return "not one sequence"
    rows, cols = model.grid
    prefix = model.prefix_tokens
    return f"{rows * cols + len(prefix)} = {rows} × {cols} patches" + "".join(
        f" + [{name.upper()}]" for name in prefix
    )


@st.cache_data(max_entries=32, show_spinner=False)
def parameter_shapes(model: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter's shape, without allocating any."""
    import torch

    from vitviz.models.zoo import create_model

    with torch.device("meta"):
        return {name: tuple(p.shape) for name, p in create_model(model).named_parameters()}


def parameters(model: ModelConfig) -> int:
    """How many numbers a model of this shape learns."""
    return sum(parameters_by_part(parameter_shapes(model)).values())


def _csv(run: Run, log: runs.Log) -> None:
    table = log.training()
    names = ("step", "epoch", "seconds", *runs.STEP_METRICS)
    lines = [",".join(names)] + [",".join(f"{v:.6g}" for v in row) for row in np.asarray(table).T]
    st.download_button(
        "Records as CSV",
        # Made when it is asked for: a file of an earlier poll would be gone by then.
        lambda: "\n".join(lines),
        f"{run.id.replace('/', '-')}.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def fresh(config: RunConfig) -> RunConfig:
    """The config under a name that no run of this visit has."""
    taken = {run.config().name for run in runs.mine(visit.current())}
    names = (config.name if i == 1 else f"{config.name} {i}" for i in range(1, 1000))
    return replace(config, name=next(name for name in names if name not in taken))
