"""One click trains the chosen models here, in turn: started, watched while it runs, and read as the stored ones are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page, run_start
from pages.selection import selection
from pages.stores import polling_rate, runs, session
from pages.views.race import race as race_view
from vitviz.analysis.one_change import Variant
from vitviz.experiments.hyperparameters import in_words
from vitviz.models import parameter_count
from vitviz.plots.one_change import payload
from vitviz.text import of_each, plain, reason

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

POLL_S = 0.5
NOTICE = "experiments._notice"
WATCHED = "experiments._watched"  # whether the last run of the script saw a training under way
Told = Callable[[Sequence[Variant]], str]


class Shown(NamedTuple):
    """What stands on the stage."""

    message: bytes  # for `pages.views.race`
    told: str  # what its numbers say
    read: bool  # whether any model's test pictures were


Show = Callable[["Run", str], Shown]  # of a run, and what to say where it has no curve


def start_button(config: RunConfig | ValueError, key: str, label: str, run_key: str) -> None:
    """Starts what is described and brings it onto the stage; disabled, with the reason under it, where it cannot be.

    Args:
        run_key: of the control that holds which run is on the stage.
    """
    st.button(
        label,
        key=f"{key}._start",
        type=selection.first_button(),
        icon=":material/play_arrow:",
        disabled=isinstance(config, ValueError),
        on_click=_start,
        args=(config, run_key, run_start.clicks_served()),
    )
    if isinstance(config, ValueError):
        st.error(f"This cannot be trained: {plain(in_words(str(config)))}.", icon=":material/block:")
    if notice := st.session_state.pop(NOTICE, None):
        st.warning(plain(notice), icon=":material/info:")


def _start(config: RunConfig, key: str, click: int) -> None:
    """Starts it, once for each click; one of the visit's own that is the same and has not ended is shown instead."""
    if not run_start.serve(click):
        return
    if same := run_start.under_way(config):
        st.session_state[NOTICE] = "These models are being trained already: here they are."
        query_params.want(key, same.id)
        return
    try:
        query_params.want(key, run_start.start(config).id)
    except run_start.NotStarted as why:
        st.session_state[NOTICE] = f"It cannot start: {why}."


def _stop(run: Run) -> None:
    if not runs.may_change(session.current(), run):
        return
    try:
        runs.executor().stop(run)
    except OSError as error:
        st.session_state[NOTICE] = f"It was not stopped ({reason(error)})."


def on_stage(key: str, preset: str, dataset: str) -> Run | None:
    """The run of one preset on one set that the link names, else the visit's newest; the link names it then.

    Says so where the one that the link names is gone.

    Args:
        key: of the control that holds which one it is.
    """

    def fits(run: Run) -> bool:
        config = run.config()
        return (config.preset, config.train.dataset) == (preset, dataset)

    here = session.current()
    linked = st.session_state.get(session_keys.WANTED, {}).get(key, "")  # the page holds what its link says
    asked = runs.find(linked)
    if asked is not None and fits(asked):
        runs.adopt(here, asked.id)
    if linked and asked is None:
        st.warning(
            "The training of this link is gone: it was removed, or this server keeps it no longer.",
            icon=":material/info:",
        )
    mine = {run.id: run for run in runs.mine(here) if fits(run)}
    if not mine:
        return None
    chosen = widgets.settle_choice(key, tuple(mine))
    widgets.keep(key, chosen)
    return mine[chosen]


def by_seeds(tell: Told) -> Show:
    """Curves, and every seed as a dot; `tell` says what the variants come to."""

    def show(run: Run, waiting: str) -> Shown:
        config, found = run.config(), variants(run)
        chance, note = 1 / config.model.num_classes, "on the test pictures, read once at the end"
        message = payload(found, chance, config.longest or 1.0, note, waiting)
        return Shown(message, tell(found), any(one.test for one in found))

    return show


def draw(run: Run, show: Show) -> None:
    """How an experiment's run stands, its curves and what is beside them; polls while it trains."""
    active = st.session_state[WATCHED] = runs.status(run).active
    slowness = polling_rate.slowness()
    st.fragment(_draw, run_every=POLL_S * slowness if active else None)(run, show)


def _draw(run: Run, show: Show) -> None:
    from vitviz.training.run_directory import RunError

    try:
        _stage(run, show)
    except (RunError, FileNotFoundError):
        if run.exists():
            raise
        st.rerun()  # it was removed meanwhile


def _stage(run: Run, show: Show) -> None:
    here = session.current()
    runs.watch(here)
    polling_rate.note(here.token)
    status = runs.status(run)
    st.progress(min(max(status.progress, 0.0), 1.0), text=_standing(run, status))
    message, told, read = show(run, runs.no_curve_yet(status))
    race_view(message, key="experiments.live_view")
    page.caption(_said(run, status, told, read))
    _buttons(run, status.active)
    if st.session_state.get(WATCHED) and not status.active:
        st.session_state[WATCHED] = False
        st.rerun()


def _said(run: Run, status: Status, told: str, read: bool) -> str:
    """What the variants come to, and of a run that ended what ended it, and where it goes on; `read`: any test."""
    if status.active:
        return told or "The test pictures are read when the trainings end."
    happened = runs.happened(status) or ("" if told else "it ended early")
    parts = [told]
    if happened:
        parts.append(
            plain(happened[:1].upper() + happened[1:]) + ("." if read else ": no test pictures were read.")
        )
    if status.state in ("stopped", "failed", "interrupted") and runs.may_change(session.current(), run):
        parts.append("Resume it in the lab.")
    return " ".join(filter(None, parts))


def _standing(run: Run, status: Status) -> str:
    """How a run stands, in a line."""
    if status.state == "queued":
        return runs.waits(session.current(), run)
    if status.state == "starting":
        return "the pictures are being prepared"
    left = f" · {status.seconds_left:.0f} s left" if status.state == "running" and status.seconds_left else ""
    where = f"epoch {status.epoch:.1f}" if run.config().equally_long else of_each(status.progress)
    return f"{status.state} · {where} · {status.seconds:.0f} s of training{left}"


def _buttons(run: Run, active: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        if active and runs.may_change(session.current(), run):
            st.button("Stop", key="experiments._stop", icon=":material/stop:", on_click=_stop, args=(run,))
        if not active:
            selection.link_to("live_lab", "Look into its models in the lab", **{"live_lab.run": run.id})


def variants(run: Run) -> list[Variant]:
    """The models of a run, those that differ in their seed alone as one, in the order of the run."""
    groups: dict[str, list[Run]] = {}
    for member in runs.models_of(run):
        groups.setdefault(member.config().name, []).append(member)
    return [_variant(title, members) for title, members in groups.items()]


def _variant(title: str, members: Sequence[Run]) -> Variant:
    logs = {member.config().train.seed: runs.log(member.id).read() for member in members}
    tested: Mapping[int, float] = {
        seed: float(log.test["accuracy"]) for seed, log in logs.items() if log.test is not None
    }
    return Variant(
        name=members[0].directory.name,
        title=title,
        curve=_mean_curve([log.validation()[[1, -1]] for log in logs.values()]),
        test=tested,
        seconds=tuple(member.status().seconds for member in members),
        parameters=sum(parameter_count.parameters(members[0].config().model).values()),
        diverged=sum(any(event.get("event") == "diverged" for event in log.events) for log in logs.values()),
    )


def _mean_curve(curves: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over as many points as all have."""
    most = min(curve.shape[1] for curve in curves)
    return np.asarray(np.mean([curve[:, :most] for curve in curves], axis=0))


def dataset(key: str, options: Sequence[str]) -> str:
    """Draws the choice among the data sets that are on this machine."""
    from vitviz.data.datasets import DATASETS, available_datasets

    here = tuple(name for name in options if name in available_datasets())
    return widgets.segmented(key, "Data set", here, format_func=lambda name: DATASETS[name].title)
