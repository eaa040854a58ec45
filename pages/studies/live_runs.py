"""Start experiments as live runs, and draw their status and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st

from pages.controls import notices, query_params, widgets
from pages.frame import page, training_runs
from pages.selection import selection
from pages.stores import runs, session, shared_cache
from pages.views.figures import draw_race
from vitviz.analysis import race
from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import Racer
from vitviz.config import name_fields
from vitviz.models import parameter_count
from vitviz.plots import race as plots
from vitviz.text import of_each, plain, plural, reason

if TYPE_CHECKING:
    from vitviz.experiments.hyperparameters import Hyperparameter
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

NOTICE, LINK_NOTICE = "studies._notice", "studies._link_notice"
DescribeVariants = Callable[[Sequence[Variant]], str]


class RunPanels(NamedTuple):
    message: bytes  # for `draw_race`
    caption: str  # describes the results
    has_test_results: bool  # True if any model was tested


BuildPanels = Callable[["Run", str], RunPanels]  # of a run and the text that replaces a missing curve


def draw_start_button(config: RunConfig | ValueError, key: str, label: str, run_key: str) -> None:
    """Draw the button that starts and shows a run; disabled, with the reason, if it cannot start.

    Args:
        run_key: of the control that holds which run is on the stage.
    """
    problem = plain(name_fields(str(config))) if isinstance(config, ValueError) else ""
    widgets.button(
        label,
        key=f"{key}._start",
        type="primary",
        icon=":material/play_arrow:",
        why_not=problem,
        on_click=_start_run,
        args=(config, run_key, training_runs.count_clicks()),
    )
    if problem:
        st.error(f"This cannot be trained: {problem}.", icon=":material/block:")
    notices.draw_notice(NOTICE)


def _start_run(config: RunConfig, key: str, click: int) -> None:
    """Start a run once per click, or show the session's own equal run if it has not ended."""
    if not training_runs.claim_click(click):
        return
    if same := training_runs.find_active_run(config):
        notices.store_notice(NOTICE, "These models are being trained already.")
        query_params.request_value(key, same.id)
        return
    try:
        query_params.request_value(key, training_runs.start_run(config).id)
        notices.clear_notice(NOTICE)
    except training_runs.NotStarted as error:
        notices.store_notice(NOTICE, f"The run cannot start: {error}.")


def _stop_run(run: Run) -> None:
    if not runs.may_change(session.get_current(), run):
        return
    try:
        runs.get_executor().stop(run)
    except OSError as error:
        notices.store_notice(NOTICE, f"The run could not be stopped ({reason(error)}).")


def find_shown_run(key: str, preset: str, dataset: str) -> Run | None:
    """Return the permalink's run of a preset on a dataset, else the session's newest; None if there is none.

    Draw a warning if the permalink's run does not exist.

    Args:
        key: of the control that holds the run; it is set to the returned one.
    """

    def fits(run: Run) -> bool:
        config = run.config()
        return (config.preset, config.train.dataset) == (preset, dataset)

    training_runs.adopt_linked_run(key, LINK_NOTICE, fits)
    notices.draw_notice(LINK_NOTICE)
    fitting = {run.id: run for run in runs.list_runs(session.get_current()) if fits(run)}
    if not fitting:
        return None
    run_id = widgets.resolve_option(key, tuple(fitting))
    widgets.store_value(key, run_id)
    return fitting[run_id]


def build_seed_panels(describe: DescribeVariants, run: Run, waiting: str) -> RunPanels:
    """Build curves and a dot per seed; `describe` writes the caption, `waiting` replaces a curve."""
    config, variants = run.config(), group_variants(run)
    chance, note = 1 / config.model.num_classes, "on the test images, evaluated once at the end"
    message = plots.pack_variants(variants, chance, config.longest or 1.0, note, waiting)
    return RunPanels(message, describe(variants), any(variant.test for variant in variants))


def build_shuffled_panels(hyperparameter: Hyperparameter, run: Run, waiting: str) -> RunPanels:
    """Build curves and accuracies on images and shuffled patches, means over seeds; `waiting` replaces a curve."""
    config = run.config()
    racers, counts = average_seeds(hyperparameter, runs.list_racers(run))
    message = plots.payload(racers, 1 / config.model.num_classes, config.longest or 1.0, waiting)
    # Titles of an uploaded dataset's run are foreign text.
    plain_racers = [replace(racer, title=plain(racer.title)) for racer in racers]
    caption = race.describe_race(plain_racers, shared_cache.load_dataset(config.train.dataset).classes)
    if caption and max(counts) > 1:
        each = plural(max(counts), "seed")
        span = each if min(counts) == max(counts) else f"{min(counts)} to {each}"
        caption += f" Every accuracy is the mean over {span}."
    return RunPanels(message, caption, any(racer.is_finished for racer in racers))


def average_seeds(hyperparameter: Hyperparameter, racers: Sequence[Racer]) -> tuple[list[Racer], list[int]]:
    """Average the racers of each value over its finished seeds, or all if none has finished; also count the seeds."""
    names = {hyperparameter.label(option): f"{option}" for option in hyperparameter.values}
    by_title: dict[str, list[Racer]] = {}
    for racer in racers:
        by_title.setdefault(racer.title, []).append(racer)
    seeds = [[racer for racer in group if racer.is_finished] or group for group in by_title.values()]
    means = [race.average_seeds(group) for group in seeds]
    return [replace(racer, name=names.get(racer.title, racer.title)) for racer in means], [*map(len, seeds)]


def draw(run: Run, build: BuildPanels) -> None:
    """Draw a run's status, curves and panels; poll while it trains."""
    training_runs.follow(run, lambda run: _draw_panels(run, build))


def _draw_panels(run: Run, build: BuildPanels) -> None:
    status = runs.read_status(run)
    st.progress(min(max(status.progress, 0.0), 1.0), text=_describe_status(run, status))
    message, caption, has_test_results = build(run, runs.describe_missing_curve(status))
    draw_race(message, key="studies.live.race")
    page.caption(_describe_run(run, status, caption, has_test_results))
    _draw_buttons(run, status.active)


def _describe_run(run: Run, status: Status, caption: str, has_test_results: bool) -> str:
    """Describe the variants' accuracies and, for a run that ended early, the reason and how to resume it."""
    if status.active:
        return caption or "Test accuracy is evaluated when training ends."
    event = runs.describe_event(status) or ("" if caption else "it ended early")
    parts = [caption]
    if event:
        parts.append(
            plain(event[:1].upper() + event[1:])
            + ("." if has_test_results else ": no test accuracy was measured.")
        )
    if status.state in ("stopped", "failed", "interrupted") and runs.may_change(session.get_current(), run):
        parts.append("Resume it in the live lab.")
    return " ".join(filter(None, parts))


def _describe_status(run: Run, status: Status) -> str:
    if status.state == "queued":
        return runs.describe_wait(session.get_current(), run)
    if status.state == "starting":
        return "the images are being prepared"
    left = f" · {status.seconds_left:.0f} s left" if status.state == "running" and status.seconds_left else ""
    position = f"epoch {status.epoch:.1f}" if run.config().equally_long else of_each(status.progress)
    return f"{status.state} · {position} · {status.seconds:.0f} s of training{left}"


def _draw_buttons(run: Run, active: bool) -> None:
    with st.container(horizontal=True, gap="small"):
        if active and runs.may_change(session.get_current(), run):
            st.button(
                "Stop", key="studies.live.stop", icon=":material/stop:", on_click=_stop_run, args=(run,)
            )
        if not active:
            selection.link_to("live_lab", "Open its models in the live lab", **{"live_lab.run": run.id})


def group_variants(run: Run) -> list[Variant]:
    """Return a run's variants in order; models that differ only in their seed are one variant."""
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
        images=max((int(log.test["images"]) for log in logs.values() if log.test is not None), default=0),
        diverged=sum(any(event.get("event") == "diverged" for event in log.events) for log in logs.values()),
        family=members[0].config().model.family,
    )


def _average_curves(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean curve over the points that all curves have."""
    length = min(curve.shape[1] for curve in curves)
    return np.asarray(np.mean([curve[:, :length] for curve in curves], axis=0))
