"""A class's challenge: the same pictures, budget and time for everyone, and a board of the runs that were handed in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vitviz.classes.classes import Classes, clean_name
from vitviz.classes.database import ClassError
from vitviz.training.limits import parameters
from vitviz.training.run_config import RunConfig

DATASET = "digits"
MOST_PARAMETERS = 60_000
SECONDS = 20.0  # of one core, while it trains
MOST_OF_ONE = 3  # runs that one visit hands in
MOST_ENTRIES = 300
TERMS = (
    f"Digits, at most {MOST_PARAMETERS:,} parameters, {SECONDS:g} seconds of one core, random weights to begin with."
    f" Up to {MOST_OF_ONE} runs each; the best test accuracy counts."
)


@dataclass(frozen=True)
class Challenge:
    """Whether runs can still be handed in, and how many were."""

    ended: bool
    entries: int


@dataclass(frozen=True)
class Entry:
    """A run that was handed in: its id, who did (a hash of this class alone), and the nickname or ''."""

    run: str
    who: str
    name: str


def bounded(config: RunConfig) -> RunConfig:
    """A run's config as the challenge trains it: its own time, one thread, random weights to begin with.

    Raises:
        ValueError: stating what is against the rules.
    """
    train = config.train
    if config.members:
        raise ValueError("the challenge takes one model, and this is an experiment of several")
    if train.dataset != DATASET:
        raise ValueError("the challenge is trained on Digits: choose them as the data set")
    if train.start_from is not None:
        raise ValueError("the challenge begins with random weights")
    if train.distill_from is not None:
        raise ValueError("the challenge is trained without a teacher: choose a family that needs none")
    if (count := parameters(config.model)) > MOST_PARAMETERS:
        raise ValueError(
            f"this model has {count:,} parameters; the challenge takes up to {MOST_PARAMETERS:,}"
        )
    timed = replace(train, epochs=None, seconds=SECONDS, clock="core", threads=1)
    return replace(config, train=timed, lease_s=None)


def begin(classes: Classes, code: str) -> None:
    """Lets runs be handed in, also after an end; those that were stay on the board.

    Raises:
        ClassError: if the class is gone, or the file cannot be written.
    """
    with classes.database.writing() as file:
        if file.execute("SELECT 1 FROM class WHERE code = ?", (code,)).fetchone() is None:
            raise ClassError("this class is over")
        file.execute("INSERT INTO challenge (code) VALUES (?) ON CONFLICT DO UPDATE SET ended = 0", (code,))


def end(classes: Classes, code: str) -> None:
    """No more runs are taken; the board stays.

    Raises:
        ClassError: if the file cannot be written.
    """
    with classes.database.writing() as file:
        file.execute("UPDATE challenge SET ended = 1 WHERE code = ?", (code,))


def now(classes: Classes, code: str) -> Challenge | None:
    """How the class's challenge stands; None where it has none.

    Raises:
        ClassError: if the file cannot be read.
    """
    with classes.database.reading() as file:
        row = (
            file
            and file.execute(
                "SELECT ended, (SELECT count(*) FROM entry WHERE entry.code = challenge.code)"
                " FROM challenge WHERE code = ?",
                (code,),
            ).fetchone()
        )
    return Challenge(bool(row[0]), row[1]) if row else None


def why_full(classes: Classes, code: str, who: str) -> str:
    """Why a visit can hand in no more; '' where it can.

    Raises:
        ClassError: if the file cannot be read.
    """
    with classes.database.reading() as file:
        row = (
            file
            and file.execute(
                "SELECT count(*), coalesce(sum(who = ?), 0) FROM entry WHERE code = ?", (who, code)
            ).fetchone()
        )
    in_all, mine = row or (0, 0)
    if mine >= MOST_OF_ONE:
        return f"you have handed in {mine} runs, which is all that one may"
    return f"{in_all} runs are on the board, which is all that it takes" if in_all >= MOST_ENTRIES else ""


def hand_in(classes: Classes, code: str, who: str, name: str, run: str) -> None:
    """Puts a run onto the board.

    Raises:
        ClassError: if the challenge has ended, the visit or the class has handed in enough, or the file cannot be
            written.
    """
    if why := why_full(classes, code, who):
        raise ClassError(why)
    with classes.database.writing() as file:
        row = file.execute("SELECT ended FROM challenge WHERE code = ?", (code,)).fetchone()
        if row is None or row[0]:
            raise ClassError("the challenge has ended")
        file.execute(
            "INSERT OR IGNORE INTO entry (code, run, who, name) VALUES (?, ?, ?, ?)",
            (code, run, who, clean_name(name)),
        )


def entries(classes: Classes, code: str) -> list[Entry]:
    """The runs that were handed in.

    Raises:
        ClassError: if the file cannot be read.
    """
    with classes.database.reading() as file:
        rows = (
            file.execute("SELECT run, who, name FROM entry WHERE code = ?", (code,)).fetchall()
            if file
            else []
        )
    return [Entry(*row) for row in rows]
