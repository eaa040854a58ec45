"""Every lens in small, for every snapshot of a run: computed once behind the pages, sent as one flip-book."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages._shared import cached, nouns, own_sets, runs
from pages._shared.background import Background
from pages.train import snapshots
from pages.train.flip_pictures import pictures
from vitviz.plots.life import Picture, payload

if TYPE_CHECKING:
    from pages.train.snapshots import Frame
    from vitviz.data.preparation import Prepared
    from vitviz.training.runs import Run

PART_S = 0.25  # of computing, before the book is put together anew and other runs have their turn
FIRST_S = 0.3  # a book that nobody has opened yet may wait so long for its first page
SHOWN = "live_lab._book"  # a weak reference to the book that this visit saw last

_behind = Background()


class Frames:
    """The frames of one run's snapshots, shared by every visit that watches it."""

    def __init__(self, run: Run, held_out: tuple[np.ndarray, ...] | None) -> None:
        self.run, self.config = run, run.config()
        self._held_out = held_out
        self._made: dict[int, Frame] = {}  # a step that a resumed run makes anew holds the same weights
        self.failed: dict[int, str] = {}

    def at(self, step: int) -> Frame:
        """The frame of a step, computed by the first who asks."""
        if step not in self._made:
            self._made[step] = snapshots.frame(self.run.id, step, self._held_out)
        return self._made[step]


class Book:
    """A run's flip-book for one picture and pin: computed by `advance` in a thread, read by pages."""

    def __init__(self, frames: Frames, seen: Prepared, pin: str) -> None:
        self.frames, self.first = frames, threading.Event()
        self._seen, self._pin = seen, pin
        self._attention: dict[int, np.ndarray | None] = {}
        self.failed: dict[int, str] = {}
        self.pages: tuple[tuple[int, ...], list[Picture]] = ((), [])  # replaced as one: steps, their pictures

    def missing(self) -> list[int]:
        """Steps that are to be computed, the newest first, the others as they were made."""
        done = {*self.pages[0], *self.failed}
        steps = [step for step in self.frames.run.snapshots() if step not in done]
        return [*steps[-1:], *steps[:-1]]

    def advance(self) -> bool:
        """Compute for a moment, then put the book together; whether steps are missing still."""
        import torch  # noqa: F401  so that its threads are known
        from threadpoolctl import threadpool_limits

        # Runs that train keep every core busy: a frame by two threads that wait for each other took ten times as long.
        with threadpool_limits(1, user_api="openmp"):
            return self._advance()

    def _advance(self) -> bool:
        began, ready = time.monotonic(), set(self.pages[0])
        for step in self.missing():
            try:
                self.frames.at(step)
                self._attention[step] = snapshots.attention(self.frames.run.id, step, self._seen, self._pin)
                ready.add(step)
            except Exception as error:  # one snapshot that cannot be read must not hold up the others
                self._fail(step, error)
            if time.monotonic() - began > PART_S or (ready and not self.pages[0]):
                break
        try:
            self._bind(tuple(sorted(ready)))
        except Exception as error:
            for step in ready.difference(self.pages[0]):
                self._fail(step, error)
        self.first.set()
        return bool(self.missing())

    def _bind(self, steps: tuple[int, ...]) -> None:
        if steps != self.pages[0]:
            frames, maps = [self.frames.at(step) for step in steps], [self._attention[step] for step in steps]
            self.pages = (steps, pictures(self.frames.config, frames, maps, self._seen, self._pin))

    def _fail(self, step: int, error: Exception) -> None:
        if step in self.frames.run.snapshots():  # else the run has let it go meanwhile
            logging.getLogger(__name__).warning(
                "step %d of %s has no pictures", step, self.frames.run.id, exc_info=error
            )
            self.failed[step] = (
                str(error) if type(error).__module__.startswith("vitviz.") else type(error).__name__
            )


def complete(run: Run) -> bool:
    """Whether every snapshot of the run is in this visit's flip-book, or cannot be."""
    return not _open(run).missing()


def flip_book(run: Run, moment: int | None) -> bytes:
    """The run's flip-book as far as it is computed; asks for the rest, and computes nothing itself."""
    own_sets.stay()
    book = _open(run)
    if book.missing():
        _behind.ask(book)
    steps, made = _shown(book).pages
    log = runs.log(run.id)
    table = log.read().validation()
    waiting = "The first snapshot is on its way." if run.status().active else "This run has no snapshot."
    return payload(run.id, steps, [_moment(step, log, table) for step in steps], made, moment, waiting)


def trouble(run: Run) -> str | None:
    """One sentence about the snapshots that have no pictures, and why."""
    failed = _open(run).failed
    if not failed:
        return None
    steps = sorted(failed)
    which = (
        f"step {steps[0]:,}" if len(steps) == 1 else f"{len(steps)} steps, the first of them {steps[0]:,},"
    )
    return f"There are no pictures of {which}: {failed[steps[0]].rstrip('.')}."


def forget() -> None:
    """Drops every picture that is held: a visitor has removed a set."""
    with _behind.still():
        for kept in (snapshots.held_out, _frames, _book, _book_of_upload):
            kept.clear()


def _open(run: Run) -> Book:
    chosen = nouns.current()
    book = _book_of_upload if chosen.image.startswith("upload:") else _book
    return book(run.id, chosen.image, chosen.pin, chosen.offset)


def _shown(book: Book) -> Book:
    """This book; while another picture's or pin's is still the longer one of this run, that one, as it was."""
    last: Book | None = st.session_state.get(SHOWN, lambda: None)()
    if last is not None and last.frames is book.frames and len(last.pages[0]) > len(book.pages[0]):
        if book.missing():
            return last
    st.session_state[SHOWN] = weakref.ref(book)
    return book


@st.cache_resource(max_entries=32, show_spinner=False)
def _frames(run_id: str) -> Frames:
    run = runs.find(run_id)
    config = run.config()
    train = config.train
    return Frames(run, snapshots.held_out(train.dataset, train.validation_fraction, config.preparation))


def _make_book(run_id: str, image: str, pin: str, offset: tuple[float, float]) -> Book:
    frames = _frames(run_id)
    book = Book(frames, cached.prepared(image, frames.config.preparation, offset), pin)
    if book.missing():
        _behind.ask(book)
        book.first.wait(FIRST_S)
    return book


_book = st.cache_resource(max_entries=48, show_spinner=False)(_make_book)
_book_of_upload = st.cache_resource(max_entries=8, show_spinner=False, scope="session")(_make_book)
cached.forgets(_book_of_upload)


def _moment(step: int, log: runs.Log, table: np.ndarray) -> str:
    epoch, seconds = log.snapshots.get(step, (0.0, 0.0))
    words = f"epoch {epoch:.1f} · {seconds:.1f} s"
    before = np.flatnonzero(table[0] <= step) if table.shape[1] else np.array([], int)
    if step and len(before):
        words += f" · validation {runs.percent(table[-1, before[-1]])}"
    return words
