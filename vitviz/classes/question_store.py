"""Store a class's open question and its anonymous answers.

An answer only increments a count. A mark prevents a second answer: the HMAC-SHA256 of the session's token under the
question's random key, in a separate unordered table. Key and marks are deleted when the question is measured or ends.
Every function raises ClassError if the database cannot be read or written.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from vitviz.classes.class_question import (
    ClassQuestion,
    parse_measured_answer,
    parse_question,
    serialize_measured_answer,
    validate_answer,
)
from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import ClassError
from vitviz.lessons.question_kinds import MeasuredAnswer

_ENDED = "this question has ended"
MAX_QUESTION_LENGTH = 16_000  # characters as stored


@dataclass(frozen=True)
class QuestionState:
    """The state of a class's question.

    stage: 'open' while answers are hidden, 'shown' while they are visible, 'measured' at the end.
    tally: the number of answers by value; empty while the question is open.
    """

    number: int
    question: ClassQuestion
    stage: str
    answers: int
    tally: Mapping[float, int]
    measured: MeasuredAnswer | None = None


def ask_question(classes: ClassStore, code: str, question: ClassQuestion) -> int:
    """Ask the class, end any earlier question, and return the new question's number.

    Raises:
        ClassError: if the class is closed, the question is too long, or the database cannot be written.
    """
    text = str(question)
    if len(text) > MAX_QUESTION_LENGTH:
        raise ClassError("this question is too long for a class")
    with classes.database.writing() as file:
        row = file.execute(
            "UPDATE class SET questions = questions + 1 WHERE code = ? RETURNING questions", (code,)
        ).fetchone()
        if row is None:
            raise ClassError("this class is closed")
        file.execute("DELETE FROM question WHERE code = ?", (code,))
        file.execute(
            "INSERT INTO question (code, number, asked, key) VALUES (?, ?, ?, ?)",
            (code, row[0], text, secrets.token_bytes(32)),
        )
    return int(row[0])


def load_question(classes: ClassStore, code: str) -> QuestionState | None:
    """Return the state of the class's question; None if it has none."""
    stored = classes.database.query_cached(
        ("question", code), lambda file: None if file is None else _query_question(file, code)
    )
    if stored is None:
        return None
    (number, text, measured, stage), tally = stored
    question = _parse_cached(text)
    if question is None:
        return None
    return QuestionState(
        number,
        question,
        stage,
        sum(tally.values()),
        {} if stage == "open" else tally,
        parse_measured_answer(measured, question.kind) if stage == "measured" else None,
    )


def _query_question(
    file: sqlite3.Connection, code: str
) -> tuple[tuple[int, str, str, str], dict[float, int]] | None:
    """Return (number, question, measured answer, stage) as stored, and the number of answers by value."""
    row = file.execute("SELECT number, asked, found, stage FROM question WHERE code = ?", (code,)).fetchone()
    if row is None:
        return None
    counts = file.execute("SELECT value, count FROM tally WHERE code = ? AND number = ?", (code, row[0]))
    return row, dict(counts)


@lru_cache(maxsize=32)
def _parse_cached(text: str) -> ClassQuestion | None:
    return parse_question(text)


def submit_answer(classes: ClassStore, code: str, number: int, token: str, value: float) -> bool:
    """Count a session's answer, and return False if the session has answered before.

    Raises:
        ClassError: if the question has ended, the answer is invalid, or the database cannot be written.
    """
    with classes.database.writing() as file:
        row = file.execute(
            "SELECT asked, key FROM question WHERE code = ? AND number = ?", (code, number)
        ).fetchone()
        question = row and row[1] and _parse_cached(row[0])
        if not question:
            raise ClassError(_ENDED)
        try:
            value = validate_answer(question.kind, value)
        except ValueError as error:
            raise ClassError(str(error)) from error
        mark = hmac.digest(row[1], token.encode(), hashlib.sha256)
        inserted = file.execute(
            "INSERT OR IGNORE INTO answered VALUES (?, ?, ?)", (code, number, mark)
        ).rowcount
        if inserted:
            file.execute(
                "INSERT INTO tally VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                (code, number, value),
            )
    return bool(inserted)


def has_answered(classes: ClassStore, code: str, number: int, token: str) -> bool:
    """Return True if a session has answered the open question."""
    with classes.database.reading() as file:
        if file is None:
            return False
        row = file.execute(
            "SELECT key FROM question WHERE code = ? AND number = ?", (code, number)
        ).fetchone()
        if not row or not row[0]:
            return False
        mark = hmac.digest(row[0], token.encode(), hashlib.sha256)
        answered = file.execute(
            "SELECT 1 FROM answered WHERE code = ? AND number = ? AND mark = ?", (code, number, mark)
        ).fetchone()
    return answered is not None


def reveal_answers(classes: ClassStore, code: str, number: int) -> None:
    """Show the answers to everyone."""
    with classes.database.writing() as file:
        file.execute(
            "UPDATE question SET stage = 'shown' WHERE code = ? AND number = ? AND stage = 'open'",
            (code, number),
        )


def store_measured_answer(classes: ClassStore, code: str, number: int, measured: MeasuredAnswer) -> None:
    """Show the measured answer, end answering, and delete the marks of who has answered.

    Raises:
        ClassError: if the question has ended, or the database cannot be written.
    """
    with classes.database.writing() as file:
        changed = file.execute(
            "UPDATE question SET stage = 'measured', found = ?, key = NULL WHERE code = ? AND number = ?",
            (serialize_measured_answer(measured), code, number),
        ).rowcount
        file.execute("DELETE FROM answered WHERE code = ? AND number = ?", (code, number))
    if not changed:
        raise ClassError(_ENDED)


def end_question(classes: ClassStore, code: str) -> None:
    """Delete the class's question and its answers."""
    with classes.database.writing() as file:
        file.execute("DELETE FROM question WHERE code = ?", (code,))
