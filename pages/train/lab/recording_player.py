"""Play a recorded run: a training in a user's own loop, finished or still being written."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page, run_panel
from pages.selection import selection
from pages.stores import recorded_runs, session
from pages.stores.record_arrays import Records
from pages.train.lab import flip_book, lab_controls, run_view
from pages.train.lab.flip_book_images import build_images
from vitviz.analysis import position_similarity
from vitviz.data.image_preprocessing import Prepared
from vitviz.plots.flip_book import cut, payload
from vitviz.probe.snapshot_evaluation import LearnedTables, SnapshotFrame
from vitviz.recorded_run import Moment, RecordedConfig, RecordedRun, RecordedRunError
from vitviz.text import percent, plain, plural

COLUMNS = [2, 1]
POLL_S, SLOW_POLL_S = 2.0, 10.0  # while the run is written, and while a copy of its folder may still grow
SILENT_S = 60.0  # without a heartbeat; a step of a large model may take this long
_STATES = {"running": "being recorded", "done": "recorded", "stopped": "recording stopped"}
_WITHOUT_IMAGES = {"confusion", "worst"}  # which need labelled validation images


def list_names() -> dict[str, str]:
    """Return the names of the recorded runs that can be shown, by key."""
    names = {}
    for key in recorded_runs.list_keys(session.get_current()):
        try:
            names[key] = recorded_runs.find_run(key).config.name
        except RecordedRunError:
            names[key] = "Recorded run"
    return names


def draw(key: str) -> None:
    """Draw the timeline and the curves of a recorded run, or why it cannot be read; poll while it is written."""
    image = 0
    try:
        run = recorded_runs.find_run(key)
        with st.container(horizontal=True):
            with st.container(width=200):
                image = _choose_image(run.config)
            with st.container(width=200):
                token = _choose_query(run.config)
        shown = _prepare_shown(run, image)
    except RecordedRunError as error:
        st.error(plain(str(error)), icon=":material/broken_image:")
        if key == recorded_runs.OPENED:  # a folder that is being copied may become complete
            st.fragment(_wait, run_every=POLL_S)(key, image, str(error))
        return
    images, side = st.columns(COLUMNS, gap="medium")
    growing = is_growing(run)
    interval_s = None if not growing else POLL_S if is_running(run) else SLOW_POLL_S
    with images:
        st.fragment(_draw_timeline, run_every=interval_s)(key, run, image, token, shown, growing)
    with side:
        st.fragment(_draw_curves, run_every=interval_s)(key, run)


def _wait(key: str, image: int, problem: str) -> None:
    """Rerun the page once the run can be read, or cannot for another reason."""
    try:
        recorded_runs.find_run(key).image(image)
    except RecordedRunError as error:
        if str(error) == problem:
            return
    st.rerun()


def is_running(run: RecordedRun) -> bool:
    """Return True if a training writes the run now."""
    status = run.status()
    return status.state == "running" and abs(time.time() - status.heartbeat) < SILENT_S


def is_growing(run: RecordedRun) -> bool:
    """Return True if moments may follow: the training has not ended, or its last moment is not copied yet."""
    status = run.status()
    if status.state == "done":
        return max(run.steps(), default=0) < status.step
    return status.state != "stopped"


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


def _draw_timeline(
    key: str, run: RecordedRun, image: int, token: int, shown: Prepared, growing: bool
) -> None:
    config, steps, moments, problems = run.config, [], [], []
    for step in run.steps():
        try:
            moments.append(recorded_runs.read_moment(key, step))
            steps.append(step)
        except RecordedRunError as error:
            problems.append(str(error))
    pages = _list_pages(key, config, steps)
    images = [
        picture if picture.page in pages else replace(picture, page=None, opens="")
        for picture in build_images(
            config.model,
            [_build_frame(moment, config) for moment in moments],
            [_read_attention(moment, config, image, token) for moment in moments],
            shown,
            config.pin if token == config.queries[-1] else config.pin.of_token(config.layout, token),
        )
        if picture.name not in _WITHOUT_IMAGES
    ]
    log = Records(run.records())
    pack = partial(
        payload,
        key,
        steps,
        [_describe_step(step, log) for step in steps],
        cut(images, len(steps)),
        moment=lab_controls.get_selected_step(key),
        waiting="Waiting for the first moment…",
        plays=not growing,
    )
    if (panel := flip_book.draw_book(key, pack)) is not None:
        step, entry = panel
        selection.set_model(key, step)
        flip_book.open_page(entry)
    if problems and not growing:  # a file that is being copied is complete a moment later
        st.warning(plain(problems[0]), icon=":material/broken_image:")
    if growing and not is_growing(run):  # it has ended: draw the page once more, without polling
        st.rerun()


def _list_pages(key: str, config: RecordedConfig, steps: list[int]) -> set[str]:
    """Return the addresses of the pages that a panel opens: without weights, those that show stored tables."""
    if steps and recorded_runs.find_weights(key, steps[-1]) is not None:
        return {*flip_book.PANEL_CONTROLS}
    return {"filters", "attention_distance", *["positions"] * (config.model.positions == "learned")}


def _build_frame(moment: Moment, config: RecordedConfig) -> SnapshotFrame:
    similarity = None if moment.positions is None else position_similarity.cosine_similarity(moment.positions)
    tables = LearnedTables(
        grid=config.layout.grid,
        patch_px=config.layout.patch_px,
        similarity=similarity,
        weights=moment.embedding,
        distance_px=moment.distance_px.mean(axis=0),
        norms=moment.norms,
    )
    return SnapshotFrame(config.classes, None, tables)


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
    parts = [run_panel.format_duration(float(seconds))]
    parts += [f"loss {loss:.3f}"] if np.isfinite(loss) else []
    parts += [f"training accuracy {percent(accuracy)}"] if np.isfinite(accuracy) else []
    return " · ".join(parts)


def _draw_curves(key: str, run: RecordedRun) -> None:
    config, status = run.config, run.status()
    is_silent = status.state == "running" and not is_running(run)
    state = f"no news for {SILENT_S:.0f} s" if is_silent else _STATES.get(status.state, "unknown")
    st.markdown(f":violet-badge[:material/replay: {state}] **{plain(config.name)}**")
    run_view.draw_recorded(key, config.name, config.model.family, Records(run.records()))
    message = plain(status.message)
    steps = run.steps()
    page.caption(
        f"{plural(len(steps), 'moment')} of a training in your own loop, up to step {max(steps, default=0):,},"
        f" on {plural(config.images, 'image')}. {message}".strip()
    )
