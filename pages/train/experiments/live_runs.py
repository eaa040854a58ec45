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
from pages.views.race import draw_race as race_view
from vitviz.analysis.one_change import Variant
from vitviz.experiments.hyperparameters import name_fields
from vitviz.models import parameter_count
from vitviz.plots.one_change import payload
from vitviz.text import of_each, plain, reason

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

POLL_S = 0.5
NOTICE = "experiments._notice"
WATCHED = "experiments._watched"  # whether the last run of the script saw a training under way
DescribeVariants = Callable[[Sequence[Variant]], str]


class RunPanels(NamedTuple):
    """The panels of a run: its figure, captions and table."""

    message: bytes  # for `pages.views.race`
    told: str  # what its numbers say
    read: bool  # whether any model's test images were


BuildPanels = Callable[["Run", str], RunPanels]  # of a run, and what to say where it has no curve


def draw_start_button(config: RunConfig | ValueError, key: str, label: str, run_key: str) -> None:
    """Starts what is described and brings it onto the stage; disabled, with the reason under it, where it cannot be.

    Args:
        run_key: of the control that holds which run is on the stage.
    """
    st.button(
        label,
        key=f"{key}._start",
        type=selection.get_primary_button_type(),
        icon=":material/play_arrow:",
        disabled=isinstance(config, ValueError),
        on_click=_start_run,
        args=(config, run_key, run_start.count_clicks()),
    )
    if isinstance(config, ValueError):
        st.error(f"This cannot be trained: {plain(name_fields(str(config)))}.", icon=":material/block:")
    if notice := st.session_state.pop(NOTICE, None):
        st.warning(plain(notice), icon=":material/info:")


def _start_run(config: RunConfig, key: str, click: int) -> None:
    """Starts it, once for each click; one of the visit's own that is the same and has not ended is shown instead."""
    if not run_start.claim_click(click):
        return
    if same := run_start.find_active_run(config):
        st.session_state[NOTICE] = "These models are being trained already."
        query_params.request_value(key, same.id)
        return
    try:
        query_params.request_value(key, run_start.start_run(config).id)
    except run_start.NotStarted as why:
        st.session_state[NOTICE] = f"The run cannot start: {why}."


def _stop_run(run: Run) -> None:
    if not runs.may_change(session.get_current(), run):
        return
    try:
        runs.get_executor().stop(run)
    except OSError as error:
        st.session_state[NOTICE] = f"The run could not be stopped ({reason(error)})."


def find_shown_run(key: str, preset: str, dataset: str) -> Run | None:
    """Return the run of one preset on one set that the link names, else the visit's newest; the link names it then.

    Says so where the one that the link names is gone.

    Args:
        key: of the control that holds which one it is.
    """

    def fits(run: Run) -> bool:
        config = run.config()
        return (config.preset, config.train.dataset) == (preset, dataset)

    here = session.get_current()
    linked = st.session_state.get(session_keys.REQUESTED, {}).get(
        key, ""
    )  # the page holds what its link says
    asked = runs.find_run(linked)
    if asked is not None and fits(asked):
        runs.adopt_run(here, asked.id)
    if linked and asked is None:
        st.warning(
            "The run of this link was deleted or has expired on this server.",
            icon=":material/info:",
        )
    mine = {run.id: run for run in runs.list_runs(here) if fits(run)}
    if not mine:
        return None
    chosen = widgets.resolve_option(key, tuple(mine))
    widgets.store_value(key, chosen)
    return mine[chosen]


def build_seed_panels(tell: DescribeVariants) -> BuildPanels:
    """Curves, and every seed as a dot; `tell` says what the variants come to."""

    def show(run: Run, waiting: str) -> RunPanels:
        config, found = run.config(), group_variants(run)
        chance, note = 1 / config.model.num_classes, "on the test images, read once at the end"
        message = payload(found, chance, config.longest or 1.0, note, waiting)
        return RunPanels(message, tell(found), any(one.test for one in found))

    return show


def draw(run: Run, show: BuildPanels) -> None:
    """Draw a run's status, curves and panels; poll while it trains."""
    active = st.session_state[WATCHED] = runs.read_status(run).active
    slowness = polling_rate.get_slowness()
    st.fragment(_draw_run, run_every=POLL_S * slowness if active else None)(run, show)


def _draw_run(run: Run, show: BuildPanels) -> None:
    from vitviz.training.run_directory import RunError

    try:
        _draw_panels(run, show)
    except (RunError, FileNotFoundError):
        if run.exists():
            raise
        st.rerun()  # it was removed meanwhile


def _draw_panels(run: Run, show: BuildPanels) -> None:
    here = session.get_current()
    runs.mark_active(here)
    polling_rate.note_user(here.token)
    status = runs.read_status(run)
    st.progress(min(max(status.progress, 0.0), 1.0), text=_describe_status(run, status))
    message, told, read = show(run, runs.describe_missing_curve(status))
    race_view(message, key="experiments.live_view")
    page.caption(_describe_run(run, status, told, read))
    _draw_buttons(run, status.active)
    if st.session_state.get(WATCHED) and not status.active:
        st.session_state[WATCHED] = False
        st.rerun()


def _describe_run(run: Run, status: Status, told: str, read: bool) -> str:
    """Describe the variants' accuracies and, for a run that ended early, the reason and how to resume it."""
    if status.active:
        return told or "The test images are read when the trainings end."
    happened = runs.describe_event(status) or ("" if told else "it ended early")
    parts = [told]
    if happened:
        parts.append(
            plain(happened[:1].upper() + happened[1:]) + ("." if read else ": no test images were read.")
        )
    if status.state in ("stopped", "failed", "interrupted") and runs.may_change(session.get_current(), run):
        parts.append("Resume it in the live lab.")
    return " ".join(filter(None, parts))


def _describe_status(run: Run, status: Status) -> str:
    """Return how a run stands, in a line."""
    if status.state == "queued":
        return runs.describe_wait(session.get_current(), run)
    if status.state == "starting":
        return "the images are being prepared"
    left = f" · {status.seconds_left:.0f} s left" if status.state == "running" and status.seconds_left else ""
    where = f"epoch {status.epoch:.1f}" if run.config().equally_long else of_each(status.progress)
    return f"{status.state} · {where} · {status.seconds:.0f} s of training{left}"


def _draw_buttons(run: Run, active: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        if active and runs.may_change(session.get_current(), run):
            st.button(
                "Stop", key="experiments._stop", icon=":material/stop:", on_click=_stop_run, args=(run,)
            )
        if not active:
            selection.link_to("live_lab", "Open its models in the live lab", **{"live_lab.run": run.id})


def group_variants(run: Run) -> list[Variant]:
    """Return the models of a run, those that differ in their seed alone as one, in the order of the run."""
    groups: dict[str, list[Run]] = {}
    for member in runs.list_models(run):
        groups.setdefault(member.config().name, []).append(member)
    return [_average_variant(title, members) for title, members in groups.items()]


def _average_variant(title: str, members: Sequence[Run]) -> Variant:
    logs = {member.config().train.seed: runs.open_log(member.id).read() for member in members}
    tested: Mapping[int, float] = {
        seed: float(log.test["accuracy"]) for seed, log in logs.items() if log.test is not None
    }
    return Variant(
        name=members[0].directory.name,
        title=title,
        curve=_average_curves([log.validation()[[1, -1]] for log in logs.values()]),
        test=tested,
        seconds=tuple(member.status().seconds for member in members),
        parameters=sum(parameter_count.parameters(members[0].config().model).values()),
        diverged=sum(any(event.get("event") == "diverged" for event in log.events) for log in logs.values()),
    )


def _average_curves(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean over as many points as all have."""
    most = min(curve.shape[1] for curve in curves)
    return np.asarray(np.mean([curve[:, :most] for curve in curves], axis=0))


def choose_dataset(key: str, options: Sequence[str]) -> str:
    """Draws the choice among the datasets that are on this machine."""
    from vitviz.data.datasets import DATASETS, available_datasets

    here = tuple(name for name in options if name in available_datasets())
    return widgets.segmented(key, "Dataset", here, format_func=lambda name: DATASETS[name].title)
