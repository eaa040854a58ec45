"""Live lab: train a ViT in front of the class and watch its inner pictures come into being."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages._shared import controls, nouns, page, runs
from pages.train import recipe_form, watch
from vitviz.training.executor import ExecutorError
from vitviz.training.runs import Run, RunConfig

FOCUS = "live_lab.run"
BESIDE = "live_lab._beside"
NOTICE = "live_lab._notice"
ENDED = "live_lab._ended"  # ids of this visit's runs that were seen to end


def start(config: RunConfig) -> None:
    """Starts a run of this visit and brings it onto the stage."""
    config = replace(config, owner=runs.visitor(), lease_s=runs.LEASE_S, name=_fresh_name(config.name))
    try:
        run = runs.executor().start(config)
    except (ExecutorError, OSError) as error:
        st.session_state[NOTICE] = f"It cannot start: {error}."
        return
    runs.adopt(run.id)
    show(run.id)


def show(run_id: str) -> None:
    """Brings a run onto the stage."""
    controls.set_value(FOCUS, run_id)
    st.session_state.pop(watch.MOMENT, None)


def _fresh_name(name: str) -> str:
    taken = {run.config().name for run in runs.mine()}
    names = (name if i == 1 else f"{name} {i}" for i in range(1, 1000))
    return next(candidate for candidate in names if candidate not in taken)


def _start_row(config: RunConfig | ValueError) -> None:
    button, words = st.columns([1, 4], vertical_alignment="center")
    with button:
        st.button(
            "Start a new run",
            key="live_lab._start",
            type="primary",
            icon=":material/play_arrow:",
            width="stretch",
            disabled=isinstance(config, ValueError),
            on_click=start,
            args=(config,),
        )
    with words:
        if isinstance(config, ValueError):
            st.error(f"This cannot be trained: {config}.", icon=":material/block:")
        else:
            st.caption(describe(config))
    if notice := st.session_state.pop(NOTICE, None):
        st.warning(notice, icon=":material/info:")


def describe(config: RunConfig) -> str:
    """One line about what will be trained."""
    train = config.train
    length = f"{train.epochs:g} epochs" if train.epochs else f"{train.seconds:g} s"
    return f"{recipe_form.model_words(config.model)} · {train.optimizer} at {train.learning_rate:g} · {length}"


def _focus(mine: list[Run]) -> Run | None:
    if not mine:
        return None
    names = {run.id: run.config().name for run in mine}
    chosen = controls.select(FOCUS, "Run", list(names), format_func=names.get)
    return next(run for run in mine if run.id == chosen)


def _poll(shown: list[Run], focus: Run) -> None:
    """Curves and inspector; when the last of the shown runs ends, the page runs once more, without polling."""
    for run in shown:
        runs.watch(run)
    stage, side = st.columns([2, 1], gap="medium")
    with stage:
        watch.draw_curves(shown, focus)
    with side:
        watch.draw_inspector(focus)
    if not any(runs.status(run).active for run in shown) and st.session_state.get(ENDED) != focus.id:
        st.session_state[ENDED] = focus.id
        if focus.snapshots():
            nouns.set_model(f"run:{focus.id}")
        st.rerun()


def main() -> None:
    page.header("Live lab", "How does attention come into being?")
    said = st.session_state.get("_incoming", {}).get(FOCUS)
    if said:
        runs.adopt(said)
    runs.executor()
    config = recipe_form.draw()
    _start_row(config)
    mine = runs.mine()
    focus = _focus(mine)
    if focus is None:
        st.info("No run yet. Start one: the first curve appears within two seconds.", icon=":material/science:")
        return
    shown = [focus]
    active = any(runs.status(run).active for run in shown)
    if active:
        st.session_state.pop(ENDED, None)
    st.fragment(_poll, run_every=watch.POLL_S if active else None)(shown, focus)


main()
