"""Start training runs from a page's buttons, once per click, and draw them again while they train.

Notices and buttons belong to the page of this run: its slug begins their keys.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.controls import notices, session_keys, widgets
from pages.frame import page
from pages.stores import runs, session, shared_cache
from vitviz.config import name_fields
from vitviz.text import is_disk_full, plain, reason
from vitviz.training.position_race import QUESTIONS
from vitviz.training.run_directory import Run, RunError

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

_clicks = threading.Lock()  # held while session_keys.CLICKS_SERVED is read and raised
RUN_MISSING = "The run of this link was deleted or has expired on this server."
POLL_S = 0.5
WATCHED = "_watched_run"  # session key: True if one of the runs was active when they were drawn last
SLOWNESS = "_slowness"  # session key: factor on the polling interval of the runs that are drawn
RESTART_RATIO = 1.5  # rerun the page if the polling interval should change by this factor
_IDENTITY = ("preset", "model", "members", "train")  # fields in which two runs of the same models agree
MAX_RACE_IMAGES = 4  # images, of the first classes
_RACE_IMAGE_PX = 64


class NotStarted(Exception):
    """Raised when no run was started; its message follows 'The run could not start: '."""


def page_key(name: str) -> str:
    """Return a key of the page in this run, such as 'live_lab._notice'."""
    return f"{st.session_state.get(session_keys.PAGE, '')}.{name}"


def set_notice(sentence: str) -> None:
    """Show one warning on the page until it is dismissed or a run is started or shown; '' removes it."""
    notices.store_notice(page_key("_notice"), sentence)


def draw_notice() -> None:
    """Draw the page's warning, if there is one."""
    notices.draw_notice(page_key("_notice"))


# ---------------------------------------------------------------- starting a run


def draw_start_button(
    label: str,
    config: object,
    start: Callable[..., None],
    *args: Any,
    name: str = "_start",
    why_not: str = "",
    help: str | None = None,
    primary: bool = True,
) -> None:
    """Draw a button that calls `start(config, *args)` once per click, or the reason why it is disabled.

    Args:
        config: what `start` takes, or the reason why the settings are invalid.
        name: end of the button's key.
        why_not: another reason, with valid settings.
    """
    widgets.button(
        label,
        key=page_key(name),
        type="primary" if primary else "secondary",
        icon=":material/play_arrow:",
        why_not=explain_refusal(config) or why_not,
        help=help,
        on_click=serve_click,
        args=(count_clicks(), partial(start, config, *args)),
    )


def explain_refusal(config: object) -> str:
    """Return why settings cannot be trained, in Markdown and in the page's names of them; '' if they can."""
    return plain(name_fields(str(config))) if isinstance(config, ValueError) else ""


def count_clicks() -> int:
    """Return how many clicks on start buttons this session has served."""
    return int(st.session_state.get(session_keys.CLICKS_SERVED, 0))


def serve_click(click: int, start: Callable[[], None]) -> None:
    """Call `start` unless the click was served before: two script runs may serve one click."""
    with _clicks:
        if is_first := count_clicks() == click:
            st.session_state[session_keys.CLICKS_SERVED] = click + 1
    if is_first:
        start()


def find_active_run(config: RunConfig) -> Run | None:
    """Return the user's queued or training run of exactly these models, if any."""
    user = session.get_current()
    for run in runs.list_runs(user):
        existing = run.config()
        requested = config.on_threads(existing.train.threads)  # fixed when a run starts
        is_same = all(getattr(existing, name) == getattr(requested, name) for name in _IDENTITY)
        if is_same and runs.is_maker(user, run) and runs.read_status(run).active:
            return run
    return None


def start_run(config: RunConfig, lease_s: float | None = runs.LEASE_S, **options: Any) -> Run:
    """Start a run of this user.

    Args:
        config: models and training.
        lease_s: the run stops after so many seconds without a viewer; None: never.
        options: further arguments of the executor's `start`.

    Raises:
        NotStarted: if the config is invalid, too many runs exist, or the folder cannot be written.
    """
    from vitviz.training.executor import ExecutorError

    user = session.get_current()
    try:
        owned = replace(config, owner=user.owner, lease_s=lease_s)
        run = runs.get_executor().start(owned, session.get_address(), **options)
    except (ExecutorError, ValueError) as error:
        raise NotStarted(str(error)) from error
    except OSError as error:
        cause = "the disk is full" if is_disk_full(error) else f"it is not writable ({reason(error)})"
        raise NotStarted(f"no run can be stored in the runs' folder: {cause}") from error
    runs.adopt_run(user, run.id)
    return run


def start_and_show(config: RunConfig, show: Callable[[Run], None] | None = None, **options: Any) -> None:
    """Start a run and call `show` with it, or with the user's active run of these settings; a callback.

    Args:
        options: further arguments of the executor's `start`.
    """
    active = find_active_run(config)
    try:
        run = active or start_run(config, **options)
    except NotStarted as error:
        set_notice(f"The run could not start: {error}.")
        return
    if show is not None:
        show(run)
    set_notice("This run is being trained with these settings already." if active else "")


def adopt_linked_run(key: str) -> None:
    """Add the permalink's run to the session, or store a notice if it does not exist.

    Args:
        key: of the control that holds the run.
    """
    requested = st.session_state.get(session_keys.REQUESTED, {})
    run_id = requested.get(key, "")
    run = runs.find_run(run_id)
    if run is None:
        requested.pop(key, None)  # without a run no control takes it
    else:
        runs.adopt_run(session.get_current(), run_id)
    if run_id:
        set_notice(RUN_MISSING if run is None else "")


# ---------------------------------------------------------------- drawing runs as they train


def rerun_if_deleted(draw: Callable[..., None]) -> Callable[..., None]:
    """Wrap a fragment so that it reruns the page, which reports missing runs, if one was deleted."""

    @wraps(draw)
    def draw_or_rerun(*args: Any) -> None:
        try:
            draw(*args)
        except (RunError, FileNotFoundError):
            flat = [entry for arg in args for entry in (arg if isinstance(arg, list) else [arg])]
            if all(run.exists() for run in flat if isinstance(run, Run)):
                raise
            st.rerun()

    return draw_or_rerun


def follow(
    shown: list[Run],
    draw: Callable[[], None],
    poll_s: float = POLL_S,
    on_end: Callable[[], None] | None = None,
) -> None:
    """Draw runs, again while one trains; rerun the page when the last has ended, or one was resumed or deleted.

    Args:
        poll_s: interval with few users.
        on_end: called before the rerun when the last run has ended.
    """
    active = st.session_state[WATCHED] = is_any_active(shown)
    st.session_state[SLOWNESS] = runs.get_slowness()
    interval_s = poll_s * st.session_state[SLOWNESS] if active else None
    st.fragment(draw_followed, run_every=interval_s)(shown, draw, on_end)


def is_any_active(shown: list[Run]) -> bool:
    return any(runs.read_status(run).active for run in shown)


@rerun_if_deleted
def draw_followed(shown: list[Run], draw: Callable[[], None], on_end: Callable[[], None] | None) -> None:
    """Draw runs, and rerun the page if polling must start, stop or change its interval."""
    user = session.get_current()
    runs.mark_active(user)
    runs.note_watcher(user.token)
    draw()
    active, ratio = is_any_active(shown), runs.get_slowness() / st.session_state[SLOWNESS]
    if active != st.session_state[WATCHED]:
        st.session_state[WATCHED] = active
        if not active and on_end is not None:
            on_end()
        st.rerun()
    if active and max(ratio, 1 / ratio) >= RESTART_RATIO:  # many sessions have come or gone
        st.rerun()


def draw_race_question(dataset_name: str) -> None:
    """Draw the dataset's question and one test image per class, at most four."""
    dataset = shared_cache.load_dataset(dataset_name)
    labels = dataset.labels_of("test")
    names = dataset.classes[:MAX_RACE_IMAGES]
    images = [dataset.test_images[np.argmax(labels == index)] for index in range(len(names))]
    st.caption(f"Question: {QUESTIONS[dataset_name]}")
    page.images(images, names, "Test image of class ", _RACE_IMAGE_PX)
