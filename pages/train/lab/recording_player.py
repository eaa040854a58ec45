"""Play a recorded run: a training in a user's own loop, finished or still being written."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.stores import recorded_runs
from pages.stores.record_arrays import Records
from pages.train.lab import flip_book, lab_controls, run_view
from pages.train.lab.flip_book_images import build_images
from vitviz.analysis import position_similarity
from vitviz.data.image_preprocessing import Prepared
from vitviz.plots.flip_book import cut, payload
from vitviz.plots.theme import family_colors
from vitviz.plots.training_curves import RunLabel
from vitviz.probe.snapshot_evaluation import Frame, LearnedTables
from vitviz.recorded_run import Moment, RecordedConfig, RecordedRun, RecordedRunError
from vitviz.text import percent, plain, plural

COLUMNS = [2, 1]
RUN = "recorded"  # its id on the timeline and the curves
POLL_S = 2.0
SILENT_S = 60.0  # without a heartbeat; a step of a large model may take this long
_STATES = {"running": "being recorded", "done": "recorded", "stopped": "recording stopped"}
_WITHOUT_IMAGES = {"confusion", "worst"}  # which need labelled validation images


def draw(run: RecordedRun) -> None:
    """Draw the timeline and the curves; poll while the run is written.

    Raises:
        RecordedRunError: if the selected image is damaged or missing.
    """
    running = is_running(run)
    with st.container(horizontal=True):
        with st.container(width=200):
            image = _choose_image(run.config)
        with st.container(width=200):
            token = _choose_query(run.config)
    pictures, side = st.columns(COLUMNS, gap="medium")
    interval_s = POLL_S if running else None
    shown = _prepare_shown(run, image)
    with pictures:
        st.fragment(_draw_timeline, run_every=interval_s)(run, image, token, shown, running)
    with side:
        st.fragment(_draw_curves, run_every=interval_s)(run)


def is_running(run: RecordedRun) -> bool:
    """Return True if a training writes the run now."""
    status = run.status()
    heartbeat = status.get("heartbeat")
    is_recent = isinstance(heartbeat, float) and time.time() - heartbeat < SILENT_S
    return status.get("state") == "running" and is_recent


def _choose_image(config: RecordedConfig) -> int:
    numbers = list(range(config.images))
    return widgets.select(
        "live_lab.recorded_image", "Image", numbers, 0, format_func=lambda i: f"image {i + 1}"
    )


def _choose_query(config: RecordedConfig) -> int:
    names = {token: f"[{name.upper()}]" for token, name in enumerate(config.layout.prefix)}
    row, col = config.pin.row_col(config.layout.grid)
    names[config.queries[-1]] = f"patch ({row + 1}, {col + 1})"
    return widgets.select(
        "live_lab.recorded_query",
        "Attention of",
        config.queries,
        config.queries[0],
        format_func=names.__getitem__,
    )


def _draw_timeline(run: RecordedRun, image: int, token: int, shown: Prepared, running: bool) -> None:
    config, steps, moments, problems = run.config, [], [], []
    for step in run.steps():
        try:
            moments.append(recorded_runs.read_moment(run, step))
            steps.append(step)
        except RecordedRunError as error:
            problems.append(str(error))
    pictures = [
        replace(picture, page=None, opens="")
        for picture in build_images(
            config.model,
            [_build_frame(moment, config) for moment in moments],
            [_read_attention(moment, config, image, token) for moment in moments],
            shown,
            config.pin if token == config.queries[-1] else config.pin.of_token(config.layout, token),
        )
        if picture.name not in _WITHOUT_IMAGES
    ]
    log = Records(run.records()[0])
    note = lab_controls.load_note(lab_controls.MOMENT)
    pack = partial(
        payload,
        RUN,
        steps,
        [_describe_step(step, log) for step in steps],
        cut(pictures, len(steps)),
        moment=note["step"] if note and note["run"] == RUN and not note["follow"] else None,
        waiting="Waiting for the first moment…",
        plays=not running,
    )
    moment, _ = flip_book.draw_book(pack)
    if moment and moment.get("run") == RUN:
        lab_controls.save_note(lab_controls.MOMENT, moment)
    if problems:
        st.warning(plain(problems[0]), icon=":material/broken_image:")
    if running and not is_running(run):  # it has ended: draw the page once more, without polling
        st.rerun()


def _build_frame(moment: Moment, config: RecordedConfig) -> Frame:
    similarity = None if moment.positions is None else position_similarity.cosine_similarity(moment.positions)
    tables = LearnedTables(
        grid=config.layout.grid,
        patch_px=config.layout.patch_px,
        similarity=similarity,
        weights=moment.embedding,
        distance_px=moment.distance_px,
        norms=moment.norms,
    )
    return Frame(config.classes, None, tables)


def _read_attention(moment: Moment, config: RecordedConfig, image: int, token: int) -> np.ndarray | None:
    rows = moment.attention(config, image, token)
    if rows is None:
        return None
    patches = rows[..., config.layout.num_prefix_tokens :]
    return patches.reshape(*patches.shape[:2], *config.layout.grid)


def _prepare_shown(run: RecordedRun, image: int) -> Prepared:
    """Return a stored image as the timeline draws it; the model is not run on it."""
    shown = run.image(image)
    return Prepared(
        np.zeros((1, 1, 1), np.float32), shown, (0.0, 0.0, float(shown.shape[0]), float(shown.shape[1]))
    )


def _describe_step(step: int, log: Records) -> str:
    table = log.training()
    earlier = np.flatnonzero(table[0] <= step)
    if not len(earlier):
        return ""
    seconds, loss, accuracy = table[2, earlier[-1]], table[3, earlier[-1]], table[4, earlier[-1]]
    parts = [run_view.format_duration(float(seconds))]
    parts += [f"loss {loss:.3f}"] if np.isfinite(loss) else []
    parts += [f"training accuracy {percent(accuracy)}"] if np.isfinite(accuracy) else []
    return " · ".join(parts)


def _draw_curves(run: RecordedRun) -> None:
    config, status = run.config, run.status()
    is_silent = status.get("state") == "running" and not is_running(run)
    state = f"no news for {SILENT_S:.0f} s" if is_silent else _STATES.get(str(status.get("state")), "unknown")
    st.markdown(f":violet-badge[:material/replay: {state}] **{plain(config.name)}**")
    (color,) = family_colors([config.model.family])
    label = RunLabel(RUN, config.name, color, {})
    series = run_view.build_series(RUN, Records(run.records()[0]))
    run_view.draw_series(
        [label], series, RUN, run_view.VIEW | {"log_x": True}, "live_lab.recorded", film=True
    )
    message = plain(str(status.get("message", "")))
    steps = run.steps()
    page.caption(
        f"{plural(len(steps), 'moment')} of a training in your own loop, up to step {max(steps, default=0):,},"
        f" on {plural(config.images, 'image')}. {message}".strip()
    )
