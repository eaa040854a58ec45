"""Compute a run's timeline images in a background thread and send them to the browser as one flip-book."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.selection import selection
from pages.stores import registry, session, shared_cache, user_datasets
from pages.stores.background_jobs import Background
from pages.stores.registry import PageEntry
from pages.train.lab import lab_controls, snapshots
from pages.train.lab.flip_book_images import build_images, build_mistakes
from pages.train.lab.snapshots import Recording
from pages.views.event_values import read_events, read_fields, read_index
from pages.views.register import get_messages, register
from vitviz.pin import Pin
from vitviz.plots import flip_book
from vitviz.text import percent

if TYPE_CHECKING:
    from pages.stores.record_arrays import Records
    from pages.train.lab.snapshots import Version
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.probe.snapshot_evaluation import HeldOut, SnapshotFrame
    from vitviz.training.run_directory import Run

PART_S = 0.25  # computing time before the book is assembled again and other runs get their turn
FIRST_S = 0.3  # longest wait for the first frame of a new book

KEY = "live_lab.life"
PANEL_CONTROLS = {
    "attention": ("attention.view", "maps"),
    "positions": ("positions.view", "similarity"),
    "filters": ("filters.view", "components"),
    "attention_distance": ("attention_distance.measure", "distance"),
    "layers": ("layers.view", "sinks"),
}
_timeline = register(__file__, "timeline")
_background = Background()


class RunFrames:
    """The frames of one run's snapshots, shared by all sessions that show it."""

    def __init__(self, run: Run | Recording, held_out: HeldOut | None) -> None:
        self.run, self.config = run, run.config()
        self._held_out = held_out
        self._frames: dict[Version, SnapshotFrame] = {}

    def get(self, version: Version) -> SnapshotFrame:
        """Return the frame of a snapshot; compute it on first use."""
        if version not in self._frames:
            self._frames[version] = snapshots.compute_frame(self.run.id, version, self._held_out)
        return self._frames[version]


class FlipBook:
    """One run's flip-book for one image and query: filled by `advance` in a thread, read by pages."""

    def __init__(self, frames: RunFrames, prepared: Prepared, pin: Pin, image: str) -> None:
        self.frames, self.first = frames, threading.Event()
        self._prepared, self._pin, self._image = prepared, pin, image
        self._attention: dict[Version, NDArray[np.floating[Any]] | None] = {}
        self.failed: dict[Version, str] = {}
        # Snapshots, their images and their tables of mistakes are replaced together, so readers never see a mix.
        empty = flip_book.Book()
        self.pages: tuple[tuple[Version, ...], flip_book.Book, flip_book.Book] = ((), empty, empty)

    def missing(self) -> list[Version]:
        """Return the snapshots still to compute, the newest first, then in ascending order."""
        done = {*self.pages[0], *self.failed}
        pending = [version for version in snapshots.list_versions(self.frames.run) if version not in done]
        return [*pending[-1:], *pending[:-1]]

    def due(self) -> bool:
        """Return True if the book differs from the run's snapshots: some are missing or were deleted."""
        return {*self.pages[0]} != {*snapshots.list_versions(self.frames.run)}.difference(self.failed)

    def advance(self) -> bool:
        """Compute frames for a moment, then assemble the book; return True if frames are missing."""
        from vitviz.probe.capture import limit_pools  # loads torch

        # Training keeps every core busy: with two threads, waiting for each other, a frame took ten times as long.
        with limit_pools(1, user_api="openmp"):
            return self._advance()

    def _advance(self) -> bool:
        began = time.monotonic()
        ready = {*self.pages[0]}.intersection(snapshots.list_versions(self.frames.run))
        for version in self.missing():
            try:
                self.frames.get(version)
                maps = snapshots.compute_attention(
                    self.frames.run.id, version, self._prepared, self._pin, self._image
                )
                self._attention[version] = maps
                ready.add(version)
            except Exception as error:  # an unreadable snapshot must not block the others
                self._fail(version, error)
            if time.monotonic() - began > PART_S or (ready and not self.pages[0]):
                break
        try:
            self._bind(tuple(sorted(ready)))
        except Exception as error:
            for version in ready.difference(self.pages[0]):
                self._fail(version, error)
        self.first.set()
        return self.due()

    def _bind(self, versions: tuple[Version, ...]) -> None:
        if versions == self.pages[0]:
            return
        frames = [self.frames.get(version) for version in versions]
        maps = [self._attention[version] for version in versions]
        images = build_images(self.frames.config.model, frames, maps, self._prepared, self._pin)
        mistakes = [build_mistakes(frames)] if frames else []
        count = len(versions)
        self.pages = (versions, flip_book.cut(images, count), flip_book.cut(mistakes, count))

    def _fail(self, version: Version, error: Exception) -> None:
        if version in snapshots.list_versions(self.frames.run):  # otherwise it was deleted meanwhile
            logging.getLogger(__name__).warning(
                "step %d of %s has no images", version.step, self.frames.run.id, exc_info=error
            )
            own_error = type(error).__module__.startswith("vitviz.")
            self.failed[version] = str(error) if own_error else type(error).__name__


def is_complete(run: Run | Recording) -> bool:
    """Return True if every snapshot of the run is in this session's flip-book or has failed."""
    return not _get_book(run).due()


def draw_timeline(run: Run | Recording, every_mistake: bool = False) -> tuple[int, PageEntry] | None:
    """Draw the timeline with the computed part of the flip-book; schedule the rest.

    Args:
        run: the run to show; a recording plays automatically once the book is complete.
        every_mistake: include the table of mistakes.

    Returns:
        The step and the page of the panel that was opened in this run of the script.
    """
    return draw_book(run.id, _prepare_book(run, every_mistake))


def draw_book(run_id: str, pack: Callable[..., bytes]) -> tuple[int, PageEntry] | None:
    """Draw the timeline and store the selected moment; return the step and the page of a panel that was opened.

    Args:
        pack: packs what a shelf lacks: all for a downloaded page, and if this browser has lost a message.
    """
    shelf: flip_book.LeafShelf = st.session_state.setdefault(lab_controls.SHELF, flip_book.LeafShelf())
    if read_events(KEY).get("again"):
        shelf.clear()
    events = _timeline(pack(shelf=shelf), key=KEY, states=("moment",), triggers=("open", "again"))
    get_messages()[KEY] = lambda: _timeline.files + pack(shelf=flip_book.LeafShelf())
    moment, opened = parse_moment(events.moment), read_fields(events.open)
    if moment and moment["run"] == run_id:
        lab_controls.save_note(lab_controls.MOMENT, moment)
    step, entry = read_index(opened.get("step")), registry.BY_SLUG.get(str(opened.get("page")))
    return None if step is None or entry is None or entry.slug not in PANEL_CONTROLS else (step, entry)


def open_page(entry: PageEntry) -> None:
    """Open a panel's page on the control that shows what the panel shows, whichever view was used last."""
    widgets.set_control(*PANEL_CONTROLS[entry.slug])
    st.switch_page(entry.path)


def parse_moment(event: object) -> dict[str, Any] | None:
    """Return the moment that the browser sent, or None if it is malformed."""
    fields = read_fields(event)
    step = read_index(fields.get("step"))
    if not isinstance(fields.get("run"), str) or (step is None and not fields.get("follow")):
        return None
    return {"run": fields["run"], "step": step, "follow": bool(fields.get("follow"))}


def _prepare_book(run: Run | Recording, every_mistake: bool) -> Callable[..., bytes]:
    """Return the function that packs what a shelf lacks of the book's computed part."""
    user_datasets.mark_active(session.get_current())
    book = _get_book(run)
    if book.due():
        _background.request(book)
    versions, images, mistake_images = _choose_shown_book(book).pages
    steps = [version.step for version in versions]
    records = snapshots.load_records(run.id)
    table = records.validation()
    moments = [_describe_step(step, records, table) for step in steps]
    return partial(
        flip_book.payload,
        run.id,
        steps,
        moments,
        images + mistake_images if every_mistake else images,
        moment=lab_controls.get_selected_step(run.id),
        waiting=snapshots.describe_waiting(run),
        plays=isinstance(run, Recording) and not book.due(),
    )


def describe_failures(run: Run | Recording) -> str | None:
    """Return one sentence about snapshots without images and the reason, or None."""
    failed = dict(_get_book(run).failed)  # a copy, because another thread adds to it
    if not failed:
        return None
    steps = sorted({version.step for version in failed})
    more = f" and {len(steps) - 1} later steps" if len(steps) > 1 else ""
    return f"No images for step {steps[0]:,}{more}: {failed[min(failed)].rstrip('.')}."


def clear_caches() -> None:
    """Drop all cached images, because a user has removed a dataset."""
    with _background.pause():
        for cache in (snapshots.load_held_out, _load_frames, _load_book):
            cache.clear()


user_datasets.on_removal(clear_caches)


def _get_book(run: Run | Recording) -> FlipBook:
    current = selection.get_current()
    image = run.image if isinstance(run, Recording) else current.image
    has_dataset = user_datasets.is_available(run.config().train.dataset)
    return _load_book(run.id, has_dataset, image, current.pin, current.offset)


def _choose_shown_book(book: FlipBook) -> FlipBook:
    """Return this book, or the session's previous longer one of the same run until this one is complete."""
    last: FlipBook | None = st.session_state.get(lab_controls.BOOK, lambda: None)()
    if last is not None and last.frames is book.frames and len(last.pages[0]) > len(book.pages[0]):
        if book.due():
            return last
    st.session_state[lab_controls.BOOK] = weakref.ref(book)
    return book


@shared_cache.shared(max_entries=32)
def _load_frames(run_id: str, has_dataset: bool) -> RunFrames:
    run = snapshots.find_run(run_id)
    if run is None:
        raise KeyError(run_id)
    if not has_dataset:
        return RunFrames(run, None)
    train, preparation = run.config().train, run.config().preparation
    return RunFrames(run, snapshots.load_held_out(train.dataset, train.validation_fraction, preparation))


@shared_cache.per_image(shared=48, upload=8)
def _load_book(run_id: str, has_dataset: bool, image: str, pin: Pin, offset: shared_cache.Offset) -> FlipBook:
    frames = _load_frames(run_id, has_dataset)
    prepared = shared_cache.prepare_image(image, frames.config.preparation, offset)
    book = FlipBook(frames, prepared, pin, image)
    if book.due():
        _background.request(book)
        book.first.wait(FIRST_S)
    return book


def _describe_step(step: int, log: Records, table: NDArray[np.float64]) -> str:
    epoch, seconds = log.snapshots.get(step, (0.0, 0.0))
    text = f"epoch {epoch:.1f} · {seconds:.1f} s"
    earlier = np.flatnonzero(table[0] <= step) if table.shape[1] else np.array([], int)
    if step and len(earlier):
        evaluated, accuracy = int(table[0, earlier[-1]]), percent(table[-1, earlier[-1]])
        text += f" · validation {accuracy}" + (f" at step {evaluated:,}" if evaluated < step else "")
    return text
