"""A class's one open question, and how many gave which answer. Who gave which stands nowhere.

An answer is a count that grows by one. That nobody answers twice is held by a mark, HMAC-SHA256 of the visit's token
under a key of the question's own, in a table of its own without an order; when the question is measured or ends, key
and marks are forgotten.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from vitviz.classes.classes import Classes
from vitviz.classes.database import ClassError
from vitviz.classes.question import Asked, checked, found_text, read_asked, read_found
from vitviz.lessons.question_kinds import Measured

_ENDED = "this question has ended"
LONGEST_ASKED = 16_000  # characters in the file


@dataclass(frozen=True)
class Question:
    """The class's question as it stands.

    stage: 'open' while answers are hidden, 'shown' while they come in before everybody, 'measured' at the end.
    """

    number: int
    asked: Asked
    stage: str
    answers: int
    tally: Mapping[float, int]  # how many gave which answer; empty while it is open
    found: Measured | None = None


def ask(classes: Classes, code: str, asked: Asked) -> int:
    """Asks the class; an earlier question ends. Returns the question's number.

    Raises:
        ClassError: if the class is gone, the question too long, or the file cannot be written.
    """
    text = str(asked)
    if len(text) > LONGEST_ASKED:
        raise ClassError("this question is too long for a class")
    with classes.database.writing() as file:
        row = file.execute(
            "UPDATE class SET questions = questions + 1 WHERE code = ? RETURNING questions", (code,)
        ).fetchone()
        if row is None:
            raise ClassError("this class is over")
        file.execute("DELETE FROM question WHERE code = ?", (code,))
        file.execute(
            "INSERT INTO question (code, number, asked, key) VALUES (?, ?, ?, ?)",
            (code, row[0], text, secrets.token_bytes(32)),
        )
    return int(row[0])


def now(classes: Classes, code: str) -> Question | None:
    """The class's question; None where it has none.

    Raises:
        ClassError: if the file cannot be read.
    """
    standing = classes.database.known(
        ("question", code), lambda file: None if file is None else _standing(file, code)
    )
    if standing is None:
        return None
    (number, text, found, stage), tally = standing
    asked = _read(text)
    if asked is None:
        return None
    return Question(
        number,
        asked,
        stage,
        sum(tally.values()),
        {} if stage == "open" else tally,
        read_found(found, asked.kind) if stage == "measured" else None,
    )


def _standing(
    file: sqlite3.Connection, code: str
) -> tuple[tuple[int, str, str, str], dict[float, int]] | None:
    """(number, what is asked, what was measured, stage) of the class's question, and how often each value was said."""
    row = file.execute("SELECT number, asked, found, stage FROM question WHERE code = ?", (code,)).fetchone()
    if row is None:
        return None
    said = file.execute("SELECT value, count FROM tally WHERE code = ? AND number = ?", (code, row[0]))
    return row, dict(said)


@lru_cache(maxsize=32)
def _read(text: str) -> Asked | None:
    return read_asked(text)


def answer(classes: Classes, code: str, number: int, token: str, value: float) -> bool:
    """Counts a visit's answer; False where it has answered already.

    Raises:
        ClassError: if the question has ended, the answer is none, or the file cannot be written.
    """
    with classes.database.writing() as file:
        row = file.execute(
            "SELECT asked, key FROM question WHERE code = ? AND number = ?", (code, number)
        ).fetchone()
        asked = row and row[1] and _read(row[0])
        if not asked:
            raise ClassError(_ENDED)
        try:
            value = checked(asked.kind, value)
        except ValueError as error:
            raise ClassError(str(error)) from error
        mark = hmac.digest(row[1], token.encode(), hashlib.sha256)
        fresh = file.execute("INSERT OR IGNORE INTO answered VALUES (?, ?, ?)", (code, number, mark)).rowcount
        if fresh:
            file.execute(
                "INSERT INTO tally VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                (code, number, value),
            )
    return bool(fresh)


def has_answered(classes: Classes, code: str, number: int, token: str) -> bool:
    """Whether a visit has answered an open question.

    Raises:
        ClassError: if the file cannot be read.
    """
    with classes.database.reading() as file:
        if file is None:
            return False
        row = file.execute(
            "SELECT key FROM question WHERE code = ? AND number = ?", (code, number)
        ).fetchone()
        if not row or not row[0]:
            return False
        mark = hmac.digest(row[0], token.encode(), hashlib.sha256)
        found = file.execute(
            "SELECT 1 FROM answered WHERE code = ? AND number = ? AND mark = ?", (code, number, mark)
        ).fetchone()
    return found is not None


def show_answers(classes: Classes, code: str, number: int) -> None:
    """Lets everybody see the answers as they come in.

    Raises:
        ClassError: if the file cannot be written.
    """
    with classes.database.writing() as file:
        file.execute(
            "UPDATE question SET stage = 'shown' WHERE code = ? AND number = ? AND stage = 'open'",
            (code, number),
        )


def measured(classes: Classes, code: str, number: int, found: Measured) -> None:
    """Shows what was measured beside the answers; nobody answers any more, and who has is forgotten.

    Raises:
        ClassError: if the question has ended, or the file cannot be written.
    """
    with classes.database.writing() as file:
        changed = file.execute(
            "UPDATE question SET stage = 'measured', found = ?, key = NULL WHERE code = ? AND number = ?",
            (found_text(found), code, number),
        ).rowcount
        file.execute("DELETE FROM answered WHERE code = ? AND number = ?", (code, number))
    if not changed:
        raise ClassError(_ENDED)


def end(classes: Classes, code: str) -> None:
    """Ends the class's question, with its answers.

    Raises:
        ClassError: if the file cannot be written.
    """
    with classes.database.writing() as file:
        file.execute("DELETE FROM question WHERE code = ?", (code,))
