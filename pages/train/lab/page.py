"""Live lab: train a ViT in front of the class and watch its inner pictures come into being."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page, registry, run_start
from pages.lessons import open_lesson
from pages.selection import selection
from pages.stores import catalogue, polling_rate, runs, session
from pages.train.lab import (
    challenge,
    config_summary,
    drawers,
    fields,
    image_prediction,
    keys,
    lineup,
    mistakes,
    numbers,
    race,
    recipe_form,
    recorded_run,
    replay,
    run_view,
    runs_table,
    snapshot_views,
    student_link,
)
from pages.train.lab.life import asks_again, life
from pages.train.lab.polling import part
from pages.train.lab.recorded_run import Recording
from pages.views.event_values import whole
from vitviz.data.datasets import first_number
from vitviz.text import plain, plural
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

RESET = 1.5  # the page runs again where visits should now poll so many times faster or slower
STAGE_POLL_S = (
    0.1  # a poll costs some 6 ms; a browser shows seven to eight a second (benchmarks/live_updates.md)
)
LIFE_POLL_S = 0.5
DRAW_POLL_S = 1.0
TABLE_POLL_S = 2.0
# On a narrow screen, with a run on the stage: each row of controls becomes one line that the finger moves sideways, so
# that the curves begin on the first screen. Streamlit would put every control on a line of its own.
PHONE = """<style>@media (max-width: 1000px) {
:is(.st-key-live_lab-form, .st-key-live_lab-start) [data-testid="stHorizontalBlock"] {
  flex-wrap: nowrap !important; overflow-x: auto; scrollbar-width: none; padding: 2px; margin: -2px; gap: 8px; }
:is(.st-key-live_lab-form, .st-key-live_lab-start) [data-testid="stColumn"] {
  flex: 1 0 152px !important; min-width: 152px !important; width: auto !important; }
.st-key-live_lab-form .st-key-live_lab-lineup[data-testid] { flex-wrap: wrap !important; }
.st-key-live_lab-form [data-testid="stColumn"]:has([data-testid="stPopover"]) { min-width: 480px !important; }
.st-key-live_lab-form [data-testid="stColumn"]:has([data-testid="stButtonGroup"]) { min-width: 240px !important; }
.st-key-live_lab-form [data-testid="stColumn"]:has([data-testid="stCaptionContainer"]) { min-width: 344px !important; }
}</style>"""


def start(config: RunConfig, click: int) -> None:
    """Starts a run of this visit and brings it onto the stage; once for each click, counted when it was drawn."""
    if not run_start.serve(click):
        return
    try:
        run = run_start.start(runs_table.fresh(config))
    except run_start.NotStarted as why:
        keys.notice(f"It cannot start: {why}.")
        return
    show(run.id)
    take_picture_of(config)


def take_picture_of(config: RunConfig) -> None:
    """Shows a run a picture like those that it learns from, unless the visitor's own or a fitting one is chosen."""
    kind, dataset = selection.current().image.partition(":")[0], config.train.dataset
    photos = kind == "sample" and dataset.startswith("cifar")
    if dataset in catalogue.datasets() and kind not in ("upload", dataset) and not photos:
        selection.set_image(f"{dataset}:{first_number(dataset)}")


def show(run_id: str) -> None:
    """Brings a run onto the stage; takes effect with the next run of the script."""
    query_params.want(keys.Stage.key("run"), run_id)
    keys.remember(keys.MOMENT, None)


def _start_row(config: RunConfig | ValueError, mine: list[Run]) -> Run | None:
    with st.container(key="live_lab-start"):
        button, run, beside = st.columns([1.2, 1.6, 2], vertical_alignment="bottom")
    with button:
        _start_button(config)
    with run:
        focus = _choose_run(mine)
    with beside:
        _choose_beside(mine, focus)
    challenge.draw(config, show)
    if isinstance(config, lineup.Incomplete):
        page.caption(f":material/groups: {config}.")
    elif isinstance(config, ValueError):
        st.error(f"This cannot be trained: {plain(fields.said(str(config)))}.", icon=":material/block:")
    else:
        page.caption(
            f"A new run would train: {config_summary.describe(config)}.{config_summary.beside(config, focus)}"
        )
    if notice := st.session_state.pop(keys.NOTICE, None):
        st.warning(plain(notice), icon=":material/info:")
    return focus


def _start_button(config: RunConfig | ValueError) -> None:
    st.button(
        "Start a new run",
        key="live_lab._start",
        type=selection.first_button(),
        icon=":material/play_arrow:",
        width="stretch",
        disabled=isinstance(config, ValueError),
        on_click=start,
        args=(config, run_start.clicks_served()),
    )


def _choose_run(mine: list[Run]) -> Run | None:
    """The run on the stage: the newest until another is chosen."""
    if not mine:
        return None
    names = {run.id: run.config().name for run in mine}
    chosen = widgets.select(
        keys.Stage.key("run"), "Run on the stage", list(names), format_func=names.__getitem__
    )
    return next(run for run in mine if run.id == chosen)


def _choose_beside(mine: list[Run], focus: Run | None) -> None:
    """Whose curves stand beside its; an experiment's members are beside each other already, as a race or as curves."""
    models = {model.id: runs.title(model) for run in mine for model in runs.models_of(run)}
    others = [name for name in models if focus is None or name != focus.id]
    if race.is_experiment(focus):
        race.choose_look()
        return
    if not others:
        return
    st.session_state[keys.BESIDE] = [name for name in keys.remembered(keys.BESIDE, []) if name in others]
    session.current().notes[keys.BESIDE] = st.multiselect(
        "Curves beside it",
        others,
        key=keys.BESIDE,
        format_func=models.__getitem__,
        max_selections=5,
        placeholder="none",
    )


def _stage(shown: list[Run], focus: Run) -> None:
    """Curves and inspector; when the last of the shown runs ends, the page runs once more, without polling."""
    here = session.current()
    runs.watch(here)
    polling_rate.note(here.token)
    open_lesson.hand_over(run=runs.status(focus).progress)
    if race.is_experiment(focus):
        race.draw_stage(focus)
    else:
        stage, side = st.columns([2, 1], gap="medium")
        with stage:
            run_view.draw_curves(shown, focus)
        with side:
            run_view.draw_inspector(focus)
    under_way = any(runs.status(run).active for run in shown)
    if st.session_state.get(keys.WATCHED) and not under_way:
        st.session_state[keys.WATCHED] = False
        subject = race.subject(focus)
        if subject.snapshots():
            selection.set_model(f"run:{subject.id}")
        st.rerun()
    if under_way and not st.session_state.get(keys.WATCHED):  # resumed from the inspector: begin to poll
        st.session_state[keys.WATCHED] = True
        st.rerun()
    ratio = polling_rate.slowness() / st.session_state[keys.SLOWNESS]
    if (
        under_way and max(ratio, 1 / ratio) >= RESET
    ):  # a class has come or gone: every visit polls as the last ones do
        st.rerun()


def _marked(focus: Run | Recording) -> int | None:
    """The step that the timeline stands at; members of an experiment share it. None: the newest."""
    moment = keys.remembered(keys.MOMENT)
    if not moment or moment["follow"] or moment["run"].partition("/")[0] != focus.id.partition("/")[0]:
        return None
    return int(moment["step"])


def _life(focus: Run | Recording) -> None:
    """The timeline and every lens in small; in a fragment of its own, so that dragging disturbs nothing."""
    every = bool(st.session_state.get(keys.Stage.key("mistakes")))
    settled, opened = life(snapshot_views.flip_book(focus, _marked(focus), asks_again(), every))
    if settled and settled.get("run") == focus.id:
        keys.remember(keys.MOMENT, settled)
    step, entry = whole(opened.get("step")), registry.BY_SLUG.get(str(opened.get("page")))
    if step is not None and entry is not None:
        selection.set_model(recorded_run.model_key(focus.id), step)
        take_picture_of(focus.config())
        st.switch_page(entry.path)
    if words := snapshot_views.trouble(focus):
        st.warning(plain(words), icon=":material/broken_image:")
    if st.session_state.get(keys.GROWING) and snapshot_views.complete(focus):
        st.session_state[keys.GROWING] = False
        st.rerun()


def _choose_mistakes() -> None:
    """Whether every mistake stands among the pictures: outside what polls, for a control there costs every poll."""
    key = keys.Stage.key("mistakes")
    words = "Each held-out picture, what it is read as at the marked moment, and how that came to be."
    if not widgets.toggle(key, mistakes.TITLE, help=words):
        query_params.drop(key)


def _draw(focus: Run | Recording) -> None:
    """What is drawn is read by the newest snapshot: a timeline that is dragged back must not change the answer."""
    marked = _marked(focus)
    back = st.toggle(
        "Read it at the moment that is marked above",
        key="live_lab._pad_at_moment",
        disabled=marked is None,
        help="Off: the newest snapshot reads it."
        if marked is not None
        else "Disabled: no moment is marked; drag the timeline, or click into the curves.",
    )
    image_prediction.draw(focus, focus.config(), marked if back else None)


def main() -> None:
    """The page, from top to bottom."""
    page.header("Live lab", "How does attention come into being?")
    asked = st.session_state.get(session_keys.INCOMING, {}).get(keys.Stage.key("run"))
    if asked and not runs.adopt(session.current(), asked):
        keys.notice("The run of this link is gone: it was removed, or this server keeps it no longer.")
    key = query_params.take("live_lab.edit")  # it is put into no address that the page writes
    if key and asked and not runs.join(session.current(), asked, key):
        keys.notice("This link lets nobody change the run any more; it shows it.")
    runs.executor()
    with st.container(key="live_lab-form"):
        config = race.draw_form() if race.choose() else recipe_form.draw()
    mine = runs.mine(session.current())
    if lost := session.take_lost(session.current()):
        keys.notice(f"{plural(lost, 'run is', 'runs are')} gone: removed, or kept no longer on this server.")
    focus = _start_row(config, mine)
    if focus is None:
        recording = recorded_run.to_show()
        _empty() if recording is None else _recorded(recording)
    else:
        st.html(PHONE)
        _run(focus, mine)


def _run(whole: Run, mine: list[Run]) -> None:
    """A run on the stage and what lies below it; each part polls by itself while there is something to see."""
    chosen = [] if race.is_experiment(whole) else keys.remembered(keys.BESIDE, [])
    shown = [whole, *filter(None, map(runs.find, chosen))]
    active = any(runs.status(run).active for run in shown)
    st.session_state[keys.WATCHED] = active
    slowness = st.session_state[keys.SLOWNESS] = polling_rate.slowness()
    st.fragment(part(_stage), run_every=STAGE_POLL_S * slowness if active else None)(shown, whole)
    focus = whole
    if race.is_experiment(whole):
        focus = race.choose_member(whole)
    else:
        page.caption("Drag across the curves to zoom, click to mark a moment; the pictures below follow.")
    student_link.draw(focus)
    _choose_mistakes()
    growing = active or not snapshot_views.complete(focus)
    st.session_state[keys.GROWING] = growing and not active
    st.fragment(part(_life), run_every=LIFE_POLL_S * slowness if growing else None)(focus)
    _drawing_title(focus)
    st.fragment(part(_draw), run_every=DRAW_POLL_S * slowness if active else None)(focus)
    st.subheader("Runs of this visit", anchor=False)
    st.fragment(part(runs_table.draw), run_every=TABLE_POLL_S * slowness if active else None)(mine)
    runs_table.manage(whole, show)
    _drawers(whole.config().preset, lambda: numbers.draw(focus))


def _recorded(recording: Recording) -> None:
    """A shipped training on the stage, for a visit that has trained nothing: it plays, and its pictures follow."""
    st.html(PHONE)
    replay.draw_stage(recording)
    page.caption("Drag across the curves to zoom, click to mark a moment; the pictures below follow.")
    _choose_mistakes()
    growing = st.session_state[keys.GROWING] = not snapshot_views.complete(recording)
    st.fragment(_life, run_every=LIFE_POLL_S if growing else None)(recording)
    _drawing_title(recording)
    _draw(recording)
    runs_table.upload_only(show)
    _drawers(recording.config().preset)


def _drawing_title(focus: Run | Recording) -> None:
    digit = focus.config().preparation.digit
    st.subheader("Draw a digit" if digit else "Your picture", anchor=False)
    if not digit:
        page.caption(
            "Choose, upload or photograph a picture in the sidebar: the model reads it at its newest"
            " snapshot, or at the marked moment."
        )


def _drawers(preset: str | None, draw_numbers: Callable[[], None] | None = None) -> None:
    page.drawers(
        "live_lab",
        math=drawers.mathematics(preset),
        code=drawers.code(preset),
        numbers=draw_numbers,
    )


def _empty() -> None:
    st.info(
        "Nothing has been trained in this visit. Start a run: the first curve usually appears within a few seconds,"
        " and the pictures of what the model learns follow it.",
        icon=":material/science:",
    )
    runs_table.upload_only(show)
    _drawers(None)


main()
