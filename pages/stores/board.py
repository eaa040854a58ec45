"""The board of a class's challenge: how each run that was handed in stands, read once for everybody who looks."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from pages.stores import classes, runs
from vitviz.classes import challenge
from vitviz.classes.challenge import Entry


@dataclass(frozen=True)
class Row:
    """A run on the board as it stands; its name is somebody's text.

    turn: its place among those that wait, from 1; None where it does not.
    """

    run: str
    who: str
    name: str
    state: str  # a run's, or 'gone'
    parameters: int = 0
    test_accuracy: float | None = None
    accuracy: float | None = None  # on validation pictures, so far
    progress: float = 0.0
    turn: int | None = None
    last_step: int | None = None  # of its snapshots, once it is done


_READ_S = 1.0
_MOST_BOARDS = 50
_boards: dict[str, tuple[float, list[Row]]] = {}
_reading = threading.Lock()


def board(code: str) -> list[Row]:
    """A challenge's runs, the best first; read once a second, however many look.

    Raises:
        ClassError: if the file cannot be read.
    """
    with _reading:
        at, rows = _boards.get(code, (-1e9, []))
        if time.monotonic() - at < _READ_S:
            return rows
        rows = [_row(entry) for entry in challenge.entries(classes.classes(), code)]
        rows.sort(
            key=lambda row: (-(row.test_accuracy or -1.0), -(row.accuracy or -1.0), row.turn or 0, row.run)
        )
        _boards[code] = (time.monotonic(), rows)
        while len(_boards) > _MOST_BOARDS:
            del _boards[next(iter(_boards))]
        return rows


def wait_s(turn: int) -> float | None:
    """About how long the run of a turn waits, where runs of the challenge are before it; None where nobody can say."""
    places = getattr(runs.executor(), "slots", None)
    return math.ceil(turn / places) * challenge.SECONDS if isinstance(places, int) else None


def _row(entry: Entry) -> Row:
    from vitviz.training.limits import parameters
    from vitviz.training.run_directory import RunError

    run = runs.find(entry.run)
    if run is None:
        return Row(entry.run, entry.who, entry.name, "gone")
    try:
        status, config = runs.status(run), run.config()
    except RunError:
        return Row(entry.run, entry.who, entry.name, "gone")
    return Row(
        run=entry.run,
        who=entry.who,
        name=entry.name,
        state=status.state,
        parameters=parameters(config.model),
        test_accuracy=status.test_accuracy if status.state == "done" else None,
        accuracy=status.accuracy,
        progress=status.progress,
        turn=runs.executor().place(run) if status.state == "queued" else None,
        last_step=max(run.snapshots(), default=None) if status.state == "done" else None,
    )
