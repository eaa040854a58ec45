"""Load the leaderboard of a class's challenge, at most once a second for all users."""

import math
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from pages.stores import classes, runs
from vitviz.classes import challenge
from vitviz.classes.challenge import Submission


@dataclass(frozen=True)
class BoardRow:
    """One run of the challenge; its name is untrusted text.

    turn: its position in the queue, from 1; None if it is not queued.
    """

    run: str
    who: str
    name: str
    state: str  # a run's state, or 'gone'
    parameters: int = 0
    test_accuracy: float | None = None
    accuracy: float | None = None  # on validation images, so far
    progress: float = 0.0
    turn: int | None = None
    last_step: int | None = None  # of its snapshots, once it is finished


_READ_S = 1.0
_MOST_BOARDS = 50
_boards: dict[str, tuple[float, list[BoardRow]]] = {}
_resumed: set[str] = set()
_reading = threading.Lock()


def load_board(code: str) -> list[BoardRow]:
    """Return a challenge's runs, the best first.

    Raises:
        ClassError: if the file cannot be read.
    """
    with _reading:
        at, rows = _boards.get(code, (-1e9, []))
        if time.monotonic() - at < _READ_S:
            return rows
        rows = [_load_row(entry) for entry in challenge.load_entries(classes.get_classes(), code)]
        rows.sort(
            key=lambda row: (-(row.test_accuracy or -1.0), -(row.accuracy or -1.0), row.turn or 0, row.run)
        )
        _boards[code] = (time.monotonic(), rows)
        while len(_boards) > _MOST_BOARDS:
            del _boards[next(iter(_boards))]
        return rows


def resume_interrupted() -> None:
    """Resume the open challenges' runs that a restart of the server interrupted, each once."""
    if not classes.has_classes():
        return
    from vitviz.training.executor import ExecutorError
    from vitviz.training.run_directory import RunError

    for entry in challenge.load_open_entries(classes.get_classes()):
        run = runs.find_run(entry.run)
        with suppress(RunError, ExecutorError):  # deleted, or resumed by another process of the server
            if run is None or run.id in _resumed or runs.read_status(run).state != "interrupted":
                continue
            _resumed.add(run.id)  # a run whose trainer dies again is its owner's to resume
            runs.get_executor().resume(run)


def estimate_wait_s(turn: int) -> float | None:
    """Return the longest expected time until a queue position starts, in seconds; None if it is unknown."""
    places = getattr(runs.get_executor(), "slots", None)
    seconds = challenge.SECONDS + challenge.OVERHEAD_S
    return math.ceil(turn / places) * seconds if isinstance(places, int) else None


def _load_row(entry: Submission) -> BoardRow:
    from vitviz.training.run_directory import RunError
    from vitviz.training.run_size import parameters

    run = runs.find_run(entry.run)
    if run is None:
        return BoardRow(entry.run, entry.who, entry.name, "gone")
    try:
        status, config = runs.read_status(run), run.config()
    except RunError:
        return BoardRow(entry.run, entry.who, entry.name, "gone")
    return BoardRow(
        run=entry.run,
        who=entry.who,
        name=entry.name,
        state=status.state,
        parameters=parameters(config.model),
        test_accuracy=status.test_accuracy if status.state == "done" else None,
        accuracy=status.accuracy,
        progress=status.progress,
        turn=runs.get_executor().queue_position(run) if status.state == "queued" else None,
        last_step=max(run.snapshots(), default=None) if status.state == "done" else None,
    )
