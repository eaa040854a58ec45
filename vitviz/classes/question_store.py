"""Store a class's questions and their anonymous answers: the open one, and the ended ones for the teacher's results.

An answer only increments a count. A mark prevents a second answer: the HMAC-SHA256 of the session's token under the
question's random key, in a separate unordered table. Key and marks are deleted when the question is measured or ends.
Texts are hidden from the class until the teacher shows each.
Every function raises ClassError if the database cannot be read or written.
"""

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from vitviz.classes.class_question import (
    ClassQuestion,
    parse_measured_answer,
    parse_question,
    serialize_measured_answer,
)
from vitviz.classes.class_store import ClassStore
from vitviz.classes.database import ClassError, Database
from vitviz.lessons.question_kinds import Answer, MeasuredAnswer

_ENDED = "this question has ended"
MAX_QUESTION_LENGTH = 16_000  # characters as stored
MAX_KEPT = 200  # questions of a class


@dataclass(frozen=True)
class WrittenAnswer:
    """A text, the number of learners who wrote it, and True if the teacher shows it to the class."""

    text: str
    count: int
    shown: bool


@dataclass(frozen=True)
class QuestionState:
    """The state of a class's question.

    stage: 'open' while answers are hidden, 'shown' while they are visible, 'measured' at the end.
    tally: the number of answers by value; empty while the question is open.
    written: the texts of a question that asks for one, in alphabetical order; only the teacher sees those not shown.
    """

    number: int
    question: ClassQuestion
    stage: str
    answers: int
    tally: Mapping[float, int]
    measured: MeasuredAnswer | None = None
    written: tuple[WrittenAnswer, ...] = ()


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
        _end_questions(file, code)
        file.execute("DELETE FROM question WHERE code = ? AND number <= ?", (code, row[0] - MAX_KEPT))
        file.execute(
            "INSERT INTO question (code, number, asked, key) VALUES (?, ?, ?, ?)",
            (code, row[0], text, secrets.token_bytes(32)),
        )
    return int(row[0])


def load_question(classes: ClassStore, code: str) -> QuestionState | None:
    """Return the state of the class's question; None if it has none."""
    stored = classes.database.query_cached(
        ("question", code), lambda: _query_questions(classes.database, code, "stage != 'ended'")
    )
    return stored[-1] if stored else None


def list_results(classes: ClassStore, code: str) -> list[QuestionState]:
    """Return every question of the class with all its answers, in the order they were asked."""
    states = _query_questions(classes.database, code, "1")
    return [replace(state, tally=_query_tally(classes.database, code, state.number)) for state in states]


def _query_questions(database: Database, code: str, condition: str) -> list[QuestionState]:
    query = f"SELECT number, asked, found, stage FROM question WHERE code = ? AND {condition} ORDER BY number"
    states = []
    for number, text, measured, stage in database.fetch(query, code):
        question = _parse_cached(text)
        if question is None:
            continue
        tally = _query_tally(database, code, number)
        texts = "SELECT answer, count, shown FROM written WHERE code = ? AND number = ? ORDER BY answer"
        written = tuple(
            WrittenAnswer(answer, count, bool(shown))
            for answer, count, shown in database.fetch(texts, code, number)
        )
        states.append(
            QuestionState(
                number=number,
                question=question,
                stage=stage,
                answers=sum(tally.values()) + sum(answer.count for answer in written),
                tally={} if stage == "open" else tally,
                measured=parse_measured_answer(measured, question.kind) if measured else None,
                written=written,
            )
        )
    return states


def _query_tally(database: Database, code: str, number: int) -> dict[float, int]:
    return dict(database.fetch("SELECT value, count FROM tally WHERE code = ? AND number = ?", code, number))


@lru_cache(maxsize=32)
def _parse_cached(text: str) -> ClassQuestion | None:
    return parse_question(text)


def submit_answer(classes: ClassStore, code: str, number: int, token: str, answer: Answer) -> bool:
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
            answer = question.kind.validate(answer)
        except ValueError as error:
            raise ClassError(str(error)) from error
        mark = hmac.digest(row[1], token.encode(), hashlib.sha256)
        inserted = file.execute(
            "INSERT OR IGNORE INTO answered VALUES (?, ?, ?)", (code, number, mark)
        ).rowcount
        if inserted:
            table = "written (code, number, answer, count)" if isinstance(answer, str) else "tally"
            file.execute(
                f"INSERT INTO {table} VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                (code, number, answer),
            )
    return bool(inserted)


def has_answered(classes: ClassStore, code: str, number: int, token: str) -> bool:
    """Return True if a session has answered the open question."""
    keys = classes.database.fetch("SELECT key FROM question WHERE code = ? AND number = ?", code, number)
    if not keys or not keys[0][0]:
        return False
    mark = hmac.digest(keys[0][0], token.encode(), hashlib.sha256)
    query = "SELECT 1 FROM answered WHERE code = ? AND number = ? AND mark = ?"
    return bool(classes.database.fetch(query, code, number, mark))


def reveal_answers(classes: ClassStore, code: str, number: int) -> None:
    """Show the answers to everyone."""
    classes.database.execute(
        "UPDATE question SET stage = 'shown' WHERE code = ? AND number = ? AND stage = 'open'", code, number
    )


def show_text(classes: ClassStore, code: str, number: int, text: str, shown: bool) -> None:
    """Show a written answer to the class, or hide it again."""
    statement = "UPDATE written SET shown = ? WHERE code = ? AND number = ? AND answer = ?"
    classes.database.execute(statement, shown, code, number, text)


def store_measured_answer(classes: ClassStore, code: str, number: int, measured: MeasuredAnswer) -> None:
    """Show the measured answer, end answering, and delete the marks of who has answered.

    Raises:
        ClassError: if the question has ended, or the database cannot be written.
    """
    with classes.database.writing() as file:
        changed = file.execute(
            "UPDATE question SET stage = 'measured', found = ?, key = NULL WHERE code = ? AND number = ?"
            " AND stage != 'ended'",
            (serialize_measured_answer(measured), code, number),
        ).rowcount
        file.execute("DELETE FROM answered WHERE code = ? AND number = ?", (code, number))
    if not changed:
        raise ClassError(_ENDED)


def end_question(classes: ClassStore, code: str) -> None:
    """End the class's question; its counts stay for the results until the class closes."""
    with classes.database.writing() as file:
        _end_questions(file, code)


def _end_questions(file: sqlite3.Connection, code: str) -> None:
    """End every question of the class, and delete the marks of who has answered."""
    file.execute("UPDATE question SET stage = 'ended', key = NULL WHERE code = ?", (code,))
    file.execute("DELETE FROM answered WHERE code = ?", (code,))


def tabulate_results(states: Sequence[QuestionState]) -> dict[str, list[str]]:
    """Return the columns of a table with one row per answer that was given, without who gave it."""
    names = ("question", "prompt", "subject", "answer", "count", "right", "measured")
    rows: list[tuple[str, ...]] = []
    for state in states:
        question, kind, measured = state.question, state.question.kind, state.measured
        judged = measured if measured is not None and measured.right else None
        answers: list[tuple[Answer, int]] = [(text.text, text.count) for text in state.written]
        for answer, count in answers + sorted(state.tally.items()):
            rows.append(
                (
                    str(state.number),
                    question.prompt,
                    question.about,
                    kind.format_answer(answer),
                    str(count),
                    "" if judged is None else "yes" if kind.is_right(answer, judged) else "no",
                    "" if judged is None else judged.format_answer(kind),
                )
            )
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
