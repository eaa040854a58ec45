"""Live lab: train models and watch their attention, filters and mistakes develop."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import popover, query_params, session_keys, widgets
from pages.frame import page, run_panel, run_start
from pages.frame.run_start import rerun_if_deleted
from pages.lessons import open_lesson
from pages.selection import selection
from pages.stores import catalogue, recorded_runs, runs, session
from pages.train.lab import (
    challenge_submission,
    flip_book,
    image_prediction,
    lab_controls,
    lineup_form,
    race,
    recipe_form,
    recording_player,
    run_statistics,
    run_view,
    runs_table,
    settings,
    snapshots,
)
from pages.train.lab.flip_book_images import MISTAKES_TITLE
from pages.train.lab.snapshots import Recording
from pages.views.figures import RACE_MATH
from vitviz.data.datasets import first_number, has_images
from vitviz.experiments import data_size
from vitviz.models.abilities import abilities
from vitviz.text import plain, plural
from vitviz.training.loop import Trainer, make_update
from vitviz.training.position_race import POSITIONS_RACE, positions_race
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.schedule import learning_rate_factor
from vitviz.training.shuffled_patches import shuffle_patches

STAGE_POLL_S = 0.1  # a poll costs about 6 ms; a browser shows 7 to 8 per second (benchmarks/live_updates.md)
TIMELINE_POLL_S = 0.5
PREDICTION_POLL_S = 1.0
TABLE_POLL_S = 2.0
COLUMNS = [2, 1]  # pictures, and the curves with the drawing pad


def start_run(config: RunConfig) -> None:
    run_start.start_and_show(runs_table.make_name_unique(config), _show_started)


def _show_started(run: Run) -> None:
    show_run(run.id)
    select_matching_image(run.config())


def select_matching_image(config: RunConfig) -> None:
    """Select an image of the run's dataset, unless an uploaded or fitting image is selected."""
    kind, dataset = selection.get_current().image.partition(":")[0], config.train.dataset
    photos = kind == "sample" and dataset.startswith("cifar")
    if has_images(dataset) and kind not in ("upload", "drawing", dataset) and not photos:
        selection.set_image(f"{dataset}:{first_number(dataset)}")


def _get_own_model() -> str | None:
    """Return the key of the model that the user selected, not of the one that the lab shows instead."""
    return session_keys.get_control_values().get("model")


def show_run(run_id: str) -> None:
    lab_controls.save_note(lab_controls.MODEL_BEFORE, _get_own_model())
    query_params.request_value(lab_controls.StageControls.key("run"), run_id)
    run_start.set_notice("")
    lab_controls.save_note(lab_controls.MOMENT, None)


def _draw_start_row(row: DeltaGenerator, visit_runs: list[Run]) -> Run | str | None:
    """Draw the settings in a popover, the start button and the choice of runs in `row`.

    Returns:
        the run to show, or the key of a recorded run.
    """
    with row:
        setup = popover.draw_popover("Set up", "tune", "live_lab.setup")
        start_place = st.container(width="content")
        with st.container(width=280):
            shown = _choose_run(visit_runs)
        focus = None if isinstance(shown, str) else shown
        with st.container(width=420):
            if shown is focus:
                _choose_compared_runs(visit_runs, focus)
    with setup, st.container(key="live_lab-form", width=680):
        mode = race.choose_mode()
        config = recipe_form.draw() if mode == race.ONE_MODEL else race.draw_form(mode)
        if isinstance(config, RunConfig):
            page.caption(f"New run: {settings.describe_config(config)}.")
            if differences := settings.describe_differences(config, focus).strip():
                page.caption(differences)
    if mode == race.EXPERIMENT:
        run_start.draw_race_question(race.get_dataset())
    with start_place:
        if not challenge_submission.draw_train_button(config, show_run):
            _draw_start_button(config)
    challenge_submission.draw(focus, lambda: _draw_start_button(config, is_primary=False))
    if isinstance(config, ValueError) and not isinstance(config, lineup_form.IncompleteLineup):
        problem = run_start.explain_refusal(config)
        st.error(f"These settings cannot be trained: {problem}.", icon=":material/block:")
    run_start.draw_notice()
    return shown


def _draw_start_button(config: RunConfig | ValueError, is_primary: bool = True) -> None:
    run_start.draw_start_button(
        "Start training" if is_primary else "Train without handing in",
        config,
        start_run,
        help=None if isinstance(config, ValueError) else f"{settings.describe_config(config)}.",
        primary=is_primary,
    )


def _choose_run(visit_runs: list[Run]) -> Run | str | None:
    names = {run.id: run.config().name for run in visit_runs} | recording_player.list_names()
    if not names:
        return None
    run_id = widgets.select(lab_controls.StageControls.key("run"), "Run shown", names)
    return next((run for run in visit_runs if run.id == run_id), run_id)


def _choose_compared_runs(visit_runs: list[Run], focus: Run | None) -> None:
    """Draw the choice of runs to compare; an experiment offers its own views instead."""
    titles = {model.id: runs.get_title(model) for run in visit_runs for model in runs.list_models(run)}
    others = [name for name in titles if focus is None or name != focus.id]
    if race.is_experiment(focus):
        race.choose_stage_view()
        return
    if not others:
        return
    st.session_state[lab_controls.COMPARED] = [
        name for name in lab_controls.load_note(lab_controls.COMPARED, []) if name in others
    ]
    session.get_current().notes[lab_controls.COMPARED] = st.multiselect(
        "Compare with",
        others,
        key=lab_controls.COMPARED,
        format_func=titles.__getitem__,
        max_selections=5,
        placeholder="none",
    )


def _draw_stage(shown: list[Run], focus: Run) -> None:
    """Draw curves and inspector, or the race of an experiment."""
    open_lesson.report_facts(run=runs.read_status(focus).progress)
    if race.is_experiment(focus):
        race.draw_stage(focus)
    else:
        run_view.draw_run(shown, focus)


def _select_trained(focus: Run) -> None:
    """Make the trained model the selection, unless the user selected another meanwhile."""
    shown_model = race.get_shown_model(focus)
    unchanged = _get_own_model() == lab_controls.load_note(lab_controls.MODEL_BEFORE, _get_own_model())
    if shown_model.snapshots() and unchanged:
        selection.set_model(f"run:{shown_model.id}")


def _draw_timeline(focus: Run | Recording) -> None:
    """Draw the timeline in its own fragment, so that dragging it reruns nothing else."""
    _show_in_sidebar(focus)
    with_mistakes = bool(st.session_state.get(lab_controls.StageControls.key("mistakes")))
    if (panel := flip_book.draw_timeline(focus, with_mistakes)) is not None:
        step, entry = panel
        selection.set_model(snapshots.get_model_key(focus.id), snapshots.find_weights(focus, step).step)
        select_matching_image(focus.config())
        flip_book.open_page(entry)
    if failures := flip_book.describe_failures(focus):
        st.warning(plain(failures), icon=":material/broken_image:")
    if st.session_state.get(lab_controls.FRAMES_PENDING) and flip_book.is_complete(focus):
        st.session_state[lab_controls.FRAMES_PENDING] = False
        st.rerun()


def _show_in_sidebar(focus: Run | Recording) -> None:
    """Rerun the page once when a run has its first snapshot, so that the sidebar shows its model."""
    if st.session_state.get(lab_controls.FOLLOWED) == focus.id or not focus.snapshot_times():
        return
    st.session_state[lab_controls.FOLLOWED] = focus.id
    if selection.get_current().model != snapshots.get_model_key(focus.id):
        st.rerun()


def _draw_above_mistakes_toggle(column: DeltaGenerator) -> DeltaGenerator:
    """Draw the toggle outside the polling fragments, where it would slow every poll; return the place above it."""
    key = lab_controls.StageControls.key("mistakes")
    help_text = "Shows each validation image that is misclassified at the selected step."
    with column:
        place = st.container()
        if not widgets.toggle(key, MISTAKES_TITLE, help=help_text):
            query_params.remove_value(key)
    return place


def _draw_prediction(focus: Run | Recording) -> None:
    """Draw the prediction, by default of the newest snapshot, so that dragging the timeline does not change it."""
    selected_step = lab_controls.get_selected_step(focus.id)
    pad = st.container()
    use_selected = st.toggle(
        "Use the model at the selected step",
        key="live_lab._pad_at_moment",
        disabled=selected_step is None,
        help="Off: the newest snapshot is used."
        if selected_step is not None
        else "Disabled: the newest step is selected; select another on the timeline or the curves.",
    )
    with pad:
        image_prediction.draw(focus, focus.config(), selected_step if use_selected else None)


def main() -> None:
    row = page.header("live_lab")
    run_key = lab_controls.StageControls.key("run")
    run_id = st.session_state.get(session_keys.INCOMING, {}).get(run_key)
    adopt = recorded_runs.adopt_run if str(run_id).startswith(recorded_runs.KEY) else runs.adopt_run
    if run_id and not adopt(session.get_current(), run_id):
        query_params.take_value(run_key)  # without the run no control takes it
        run_start.set_notice("The run of this link is missing: it was deleted or has expired on this server.")
    edit_key = query_params.take_value("live_lab.edit")  # never written to the page's own address
    if edit_key and run_id and not runs.join_run(session.get_current(), run_id, edit_key):
        run_start.set_notice("This link is read-only now: editing was revoked.")
    runs.get_executor()
    visit_runs = runs.list_runs(session.get_current())
    if lost_count := session.take_lost_run_count(session.get_current()):
        run_start.set_notice(
            f"{plural(lost_count, 'run is', 'runs are')} missing: deleted or expired on this server."
        )
    shown_run = _draw_start_row(row, visit_runs)
    if isinstance(shown_run, str):
        _draw_recorded_run(shown_run)
    elif shown_run is None:
        recording = snapshots.choose_recording()
        _draw_empty() if recording is None else _draw_recording(recording)
    else:
        _draw_run(shown_run, visit_runs)


def _draw_run(run: Run, visit_runs: list[Run]) -> None:
    """Draw the shown run; each part polls on its own while the run is active."""
    compared_ids = [] if race.is_experiment(run) else lab_controls.load_note(lab_controls.COMPARED, [])
    shown = [run, *filter(None, map(runs.find_run, compared_ids))]
    active = run_start.is_any_active(shown)
    stage = partial(_draw_stage, shown, run), STAGE_POLL_S, partial(_select_trained, run)
    focus = run
    if race.is_experiment(run):  # its race is the picture; the images of one of its models follow
        run_start.follow(shown, *stage)
        focus = race.choose_member(run)
    growing = active or not flip_book.is_complete(focus)
    st.session_state[lab_controls.FRAMES_PENDING] = growing and not active
    images, side = st.columns(COLUMNS, gap="medium")
    with _draw_above_mistakes_toggle(images):
        _poll(_draw_timeline, TIMELINE_POLL_S if growing else 0, focus)
    with side:
        if focus is run:
            run_start.follow(shown, *stage)
        _link_to_distillation(focus)
        _draw_prediction_title(focus)
        _poll(_draw_prediction, PREDICTION_POLL_S if active else 0, focus)
    st.subheader("Your runs", anchor=False)
    _poll(runs_table.draw, TABLE_POLL_S if active else 0, visit_runs)
    runs_table.draw_actions(run, show_run)
    _draw_drawers(run.config().preset, lambda: run_statistics.draw(focus))


def _poll(draw: Callable[..., None], interval_s: float, *args: Any) -> None:
    """Draw in a fragment that reruns every `interval_s`, more slowly with many users; 0 stops polling."""
    run_every = interval_s * runs.get_slowness() or None
    st.fragment(rerun_if_deleted(draw), run_every=run_every)(*args)


def _link_to_distillation(student: Run) -> None:
    config = student.config()
    if config.train.distill_from is None or not abilities(config.model).distillation:
        return
    if runs.read_status(student).active:
        return
    params: dict[str, Any] = {"distillation.view": "voices", "distillation.asked": True}
    selection.link_to(
        "distillation", "Compare it with its teacher", model=snapshots.get_model_key(student.id), **params
    )


def _draw_recording(recording: Recording) -> None:
    """Draw a recorded run for a session without runs of its own."""
    growing = st.session_state[lab_controls.FRAMES_PENDING] = not flip_book.is_complete(recording)
    images, side = st.columns(COLUMNS, gap="medium")
    with _draw_above_mistakes_toggle(images):
        st.fragment(_draw_timeline, run_every=TIMELINE_POLL_S if growing else None)(recording)
    with side:
        _draw_recorded_curves(recording)
        _draw_prediction_title(recording)
        _draw_prediction(recording)
        test = recording.describe() or run_view.describe_test(recording.records())
        if recording.image != selection.get_current().image:
            test += f" Its attention is stored for {selection.get_image_title(recording.image)}."
        st.caption(f"{test} This run is recorded; 'Start training' starts yours.".strip())
        page.provenance(_describe_recording(recording))
    runs_table.draw_upload(show_run)
    _draw_drawers(recording.config().preset)


def _draw_recorded_run(key: str) -> None:
    recording_player.draw(key)
    runs_table.draw_upload(show_run)
    _draw_drawers(None)


def _draw_prediction_title(focus: Run | Recording) -> None:
    st.markdown("**Draw a digit**" if focus.config().preparation.digit else "**The image in the sidebar**")


def _draw_drawers(preset: str | None, draw_numbers: Callable[[], None] | None = None) -> None:
    """Draw the drawers: of an experiment its own mathematics and what defines it, else those of training."""
    code: tuple[Callable[..., object], ...] = Trainer.advance, learning_rate_factor
    if preset == POSITIONS_RACE:
        code = positions_race, make_update, shuffle_patches
    elif preset == data_size.PRESET:
        code = data_size.race, make_update, shuffle_patches
    page.drawers(
        "live_lab",
        math=page.read_math(*[RACE_MATH] * (preset == POSITIONS_RACE), __file__),
        code=code,
        numbers=draw_numbers,
    )


def _draw_empty() -> None:
    st.info(
        "No runs yet. Start training: the first curve usually appears within a few seconds.",
        icon=":material/science:",
    )
    runs_table.draw_upload(show_run)
    _draw_drawers(None)


def _draw_recorded_curves(recording: Recording) -> None:
    other = " · a second training of the same recipe" * bool(recording.describe())
    st.markdown(f":violet-badge[:material/replay: recorded] **{recording.choice.shown}**{other}")
    choice = recording.choice
    run_view.draw_recorded(recording.id, choice.title, choice.config.family, recording.records())


def _describe_recording(recording: Recording) -> str:
    card, log, growth = catalogue.read_header(recording.path).card, recording.records(), recording.growth
    seconds = max(float(table[2].max(initial=0.0)) for table in (log.training(), log.validation()))
    last_step = recording.choice.last_step
    if growth is not None and not growth.is_shipped:
        card, last_step = {"machine": growth.machine}, int(growth.steps[-1])
    text = f"{last_step:,} steps in {run_panel.format_duration(seconds)}"
    date, machine = (plain(str(card.get(name, ""))) for name in ("date", "machine"))
    return text + (f" on {date}" if date else "") + (f" ({machine}, one seed)" if machine else "")


main()
