"""Every lens in small, for every snapshot of a run: computed once behind the pages, sent as one flip-book."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.selection import selection
from pages.stores import cached, session, user_datasets
from pages.stores.background import Background
from pages.train.lab import keys, mistakes, recorded_run, snapshots
from pages.train.lab.flip_pictures import pictures
from pages.train.lab.recorded_run import Recording
from vitviz.pin import Pin
from vitviz.plots import run_history
from vitviz.text import percent

if TYPE_CHECKING:
    from pages.stores.records import Records
    from pages.train.lab.snapshots import Version
    from vitviz.data.preparation import Prepared
    from vitviz.probe.snapshot import Frame, HeldOut
    from vitviz.training.run_directory import Run

PART_S = 0.25  # of computing, before the book is put together anew and other runs have their turn
FIRST_S = 0.3  # a book that nobody has opened yet may wait so long for its first page

_behind = Background()


class Frames:
    """The frames of one run's snapshots, shared by every visit that watches it."""

    def __init__(self, run: Run | Recording, held_out: HeldOut | None) -> None:
        self.run, self.config = run, run.config()
        self._held_out = held_out
        self._made: dict[Version, Frame] = {}

    def at(self, version: Version) -> Frame:
        """The frame of a snapshot, computed by the first who asks."""
        if version not in self._made:
            self._made[version] = snapshots.frame(self.run.id, version, self._held_out)
        return self._made[version]


class Book:
    """A run's flip-book for one picture and pin: computed by `advance` in a thread, read by pages."""

    def __init__(self, frames: Frames, seen: Prepared, pin: Pin) -> None:
        self.frames, self.first = frames, threading.Event()
        self._seen, self._pin = seen, pin
        self._attention: dict[Version, NDArray[np.floating[Any]] | None] = {}
        self.failed: dict[Version, str] = {}
        # Replaced as one: snapshots, their pictures cut for travelling, and every mistake, for whoever asks for that.
        self.pages: tuple[tuple[Version, ...], run_history.Book, run_history.Book] = (
            (),
            run_history.Book(),
            run_history.Book(),
        )

    def missing(self) -> list[Version]:
        """Snapshots that are to be computed, the newest first, the others as they were made."""
        done = {*self.pages[0], *self.failed}
        found = [version for version in snapshots.versions(self.frames.run) if version not in done]
        return [*found[-1:], *found[:-1]]

    def due(self) -> bool:
        """Whether the pages are not the run's snapshots: some are missing, or a resumed run has let some go."""
        return {*self.pages[0]} != {*snapshots.versions(self.frames.run)}.difference(self.failed)

    def advance(self) -> bool:
        """Compute for a moment, then put the book together; whether steps are missing still."""
        import torch  # noqa: F401  so that its threads are known
        from threadpoolctl import threadpool_limits

        # Runs that train keep every core busy: a frame by two threads that wait for each other took ten times as long.
        with threadpool_limits(1, user_api="openmp"):
            return self._advance()

    def _advance(self) -> bool:
        began = time.monotonic()
        ready = {*self.pages[0]}.intersection(snapshots.versions(self.frames.run))
        for version in self.missing():
            try:
                self.frames.at(version)
                seen = snapshots.attention(self.frames.run.id, version, self._seen, self._pin)
                self._attention[version] = seen
                ready.add(version)
            except Exception as error:  # one snapshot that cannot be read must not hold up the others
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

    def _bind(self, found: tuple[Version, ...]) -> None:
        if found != self.pages[0]:
            frames, maps = [self.frames.at(one) for one in found], [self._attention[one] for one in found]
            made = pictures(self.frames.config.model, frames, maps, self._seen, self._pin)
            more = [mistakes.picture(frames)] if frames else []
            self.pages = (found, run_history.cut(made, len(found)), run_history.cut(more, len(found)))

    def _fail(self, version: Version, error: Exception) -> None:
        if version in snapshots.versions(self.frames.run):  # else the run has let it go meanwhile
            logging.getLogger(__name__).warning(
                "step %d of %s has no pictures", version.step, self.frames.run.id, exc_info=error
            )
            self.failed[version] = (
                str(error) if type(error).__module__.startswith("vitviz.") else type(error).__name__
            )


def complete(run: Run | Recording) -> bool:
    """Whether every snapshot of the run is in this visit's flip-book, or cannot be."""
    return not _open(run).due()


def flip_book(run: Run | Recording, moment: int | None, again: bool, every_mistake: bool = False) -> bytes:
    """What this session's browser lacks of the run's flip-book as far as it is computed; asks for the rest.

    Args:
        run: whose life it is; a recording plays by itself once all of it is there.
        moment: the step to show; None: the newest.
        again: the browser has lost something, so all of it travels.
        every_mistake: with each held-out picture and what it was read as.
    """
    user_datasets.stay(session.current())
    book = _open(run)
    if book.due():
        _behind.ask(book)
    found, made, more = _shown(book).pages
    steps = [version.step for version in found]
    log = recorded_run.records(run.id)
    table = log.validation()
    moments = [_moment(step, log, table) for step in steps]
    shelf: run_history.Shelf = st.session_state.setdefault(keys.SHELF, run_history.Shelf())
    if again:
        shelf.clear()
    return run_history.payload(
        run.id,
        steps,
        moments,
        made + more if every_mistake else made,
        shelf,
        moment=moment,
        waiting=snapshots.waiting(run),
        plays=isinstance(run, Recording) and not book.due(),
    )


def trouble(run: Run | Recording) -> str | None:
    """One sentence about the snapshots that have no pictures, and why."""
    failed = dict(_open(run).failed)  # another thread adds to it
    if not failed:
        return None
    steps = sorted({version.step for version in failed})
    which = (
        f"step {steps[0]:,}" if len(steps) == 1 else f"{len(steps)} steps, the first of them {steps[0]:,},"
    )
    return f"There are no pictures of {which}: {failed[min(failed)].rstrip('.')}."


def forget() -> None:
    """Drops every picture that is held: a visitor has removed a set."""
    with _behind.still():
        for kept in (snapshots.held_out, _frames, _book):
            kept.clear()


user_datasets.on_removal(forget)


def _open(run: Run | Recording) -> Book:
    chosen = selection.current()
    image = run.image if isinstance(run, Recording) else chosen.image
    return _book(run.id, user_datasets.here(run.config().train.dataset), image, chosen.pin, chosen.offset)


def _shown(book: Book) -> Book:
    """This book; while another picture's or pin's is still the longer one of this run, that one, as it was."""
    last: Book | None = st.session_state.get(keys.BOOK, lambda: None)()
    if last is not None and last.frames is book.frames and len(last.pages[0]) > len(book.pages[0]):
        if book.due():
            return last
    st.session_state[keys.BOOK] = weakref.ref(book)
    return book


@cached.shared(most=32)
def _frames(run_id: str, here: bool) -> Frames:
    run = recorded_run.filmed(run_id)
    if run is None:
        raise KeyError(run_id)
    if not here:
        return Frames(run, None)
    config = run.config()
    train = config.train
    return Frames(run, snapshots.held_out(train.dataset, train.validation_fraction, config.preparation))


@cached.per_picture(shared=48, upload=8)
def _book(run_id: str, here: bool, image: str, pin: Pin, offset: cached.Offset) -> Book:
    """`here`: whether the run's pictures are; they may be removed, or nobody has used them for long."""
    frames = _frames(run_id, here)
    book = Book(frames, cached.prepared(image, frames.config.preparation, offset), pin)
    if book.due():
        _behind.ask(book)
        book.first.wait(FIRST_S)
    return book


def _moment(step: int, log: Records, table: NDArray[np.float64]) -> str:
    epoch, seconds = log.snapshots.get(step, (0.0, 0.0))
    words = f"epoch {epoch:.1f} · {seconds:.1f} s"
    before = np.flatnonzero(table[0] <= step) if table.shape[1] else np.array([], int)
    if step and len(before):
        words += f" · validation {percent(table[-1, before[-1]])}"
    return words
