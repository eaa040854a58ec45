"""Classes: one who teaches, those who follow, and what is shown, in one file for every process of the server.

A class is its teacher's who opened it: the visit whose token hashes to what stands in the file (as with runs, see
`RunConfig.owner`), so no link makes anybody a teacher. Who follows stands there as a hash of their token and the class,
which names them in no other class and to nobody. A class is gone twelve hours after its teacher's last sign of life.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitviz.classes.codes import new_code
from vitviz.classes.database import ClassError, Database
from vitviz.classes.shared_view import Shown
from vitviz.heartbeat import Clock

LIFE_S = 12 * 3600.0  # after the teacher's last sign
HERE_S = 25.0  # who has not been heard of for so long has gone
TOLD_S = 10.0  # who is here says so as often as this
MOST_CLASSES = 200
MOST_OF_A_TEACHER = 3
MOST_MEMBERS = 500
MOST_AN_HOUR = 60  # classes that are opened
LONGEST_NAME = 24
_EVEN_S = 600.0  # a clock that was set is believed again after so long


@dataclass(frozen=True)
class Room:
    """A class as it stands.

    version: counts what was shown.
    """

    code: str
    teacher: str
    version: int
    text: str  # what is shown, as the file holds it
    challenge: bool  # whether runs can be handed in

    @property
    def shown(self) -> Shown | None:
        """What the teacher shows; None before anything was."""
        return Shown.read(self.text)


@dataclass(frozen=True)
class Present:
    """How many are in a class now, the teacher not counted, and how many of them follow."""

    here: int
    follow: int


def member(code: str, token: str) -> str:
    """How a visit stands in a class's file: not to be told from any other, nor found in another class."""
    return hashlib.sha256(f"class:{code}:{token}".encode()).hexdigest()[:32]


def clean_name(name: str) -> str:
    """A nickname to show: printable, in one line, at most `LONGEST_NAME` characters; '' for none."""
    printable = "".join(c if c.isprintable() else " " for c in name[: 4 * LONGEST_NAME])
    return " ".join(printable.split())[:LONGEST_NAME]


class Classes:
    """The classes of a file.

    Args:
        path: of the file; see `Database`.
        now: the time, in seconds since 1970.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self.database = Database(path)
        self._now = now
        self._clock = Clock(60.0)

    def open(self, teacher: str) -> str:
        """A new class; returns its code.

        Raises:
            ClassError: if there are too many already, or the file cannot be written.
        """
        self.sweep()
        now, code = self._now(), new_code()
        with self.database.writing(create=True) as file:
            mine, lately, all_of_them = file.execute(
                "SELECT coalesce(sum(teacher = ?), 0), coalesce(sum(abs(opened - ?) < 3600), 0), count(*) FROM class",
                (teacher, now),
            ).fetchone()
            if mine >= MOST_OF_A_TEACHER:
                raise ClassError(f"you have {mine} classes open already: close one of them first")
            if all_of_them >= MOST_CLASSES or lately >= MOST_AN_HOUR:
                raise ClassError("this server has as many classes as it takes; try again in an hour")
            file.execute(
                "INSERT INTO class (code, teacher, opened, seen) VALUES (?, ?, ?, ?)",
                (code, teacher, now, now),
            )
        return code

    def look(self, code: str) -> Room | None:
        """The class of a code; None where there is none, or none any more.

        Raises:
            ClassError: if the file cannot be read.
        """
        row = self.database.known(
            ("class", code),
            lambda file: (
                file
                and file.execute(
                    "SELECT code, teacher, version, shown,"
                    " (SELECT NOT ended FROM challenge WHERE challenge.code = class.code) IS 1, seen"
                    " FROM class WHERE code = ?",
                    (code,),
                ).fetchone()
            ),
        )
        if not row:
            return None
        known, teacher, version, text, challenge, seen = row
        return None if self._gone(seen) else Room(known, teacher, version, text, bool(challenge))

    def of(self, teacher: str) -> list[str]:
        """Codes of the classes that a visit has opened, the newest first.

        Raises:
            ClassError: if the file cannot be read.
        """
        with self.database.reading() as file:
            rows = (
                file.execute(
                    "SELECT code, seen FROM class WHERE teacher = ? ORDER BY opened DESC", (teacher,)
                ).fetchall()
                if file
                else []
            )
        return [code for code, seen in rows if not self._gone(seen)]

    def show(self, code: str, shown: Shown) -> int:
        """Shows the class a page; returns the new version.

        Raises:
            ClassError: if the class is gone or the file cannot be written.
        """
        with self.database.writing() as file:
            row = file.execute(
                "UPDATE class SET shown = ?, version = version + 1, seen = ? WHERE code = ? RETURNING version",
                (str(shown), self._now(), code),
            ).fetchone()
        if row is None:
            raise ClassError("this class is over")
        return int(row[0])

    def sign(self, code: str) -> None:
        """The teacher is here; to be said at least once in twelve hours."""
        with self.database.writing() as file:
            file.execute("UPDATE class SET seen = ? WHERE code = ?", (self._now(), code))

    def here(self, code: str, who: str, follows: bool, name: str = "") -> None:
        """A learner is here, and follows or not; to be said every `TOLD_S`.

        Raises:
            ClassError: if the class is full or gone, or the file cannot be written.
        """
        now = self._now()
        with self.database.writing() as file:
            known = file.execute(
                "UPDATE member SET follows = ?, name = ?, seen = ? WHERE code = ? AND who = ?",
                (follows, clean_name(name), now, code, who),
            ).rowcount
            if known:
                return
            _check_room(file, code)
            file.execute(
                "INSERT INTO member (code, who, name, follows, seen) VALUES (?, ?, ?, ?, ?)",
                (code, who, clean_name(name), follows, now),
            )

    def leave(self, code: str, who: str) -> None:
        """A learner has left."""
        with self.database.writing() as file:
            file.execute("DELETE FROM member WHERE code = ? AND who = ?", (code, who))

    def present(self, code: str) -> Present:
        """Who is here now, in numbers.

        Raises:
            ClassError: if the file cannot be read.
        """
        now = self._now()
        row = self.database.known(
            ("present", code, int(now)),
            lambda file: (
                file
                and file.execute(
                    "SELECT count(*), coalesce(sum(follows), 0) FROM member WHERE code = ? AND abs(? - seen) < ?",
                    (code, now, HERE_S),
                ).fetchone()
            ),
        )
        return Present(*row) if row else Present(0, 0)

    def close(self, code: str, teacher: str) -> None:
        """Ends a class, if this visit teaches it; all that belongs to it goes with it."""
        with self.database.writing() as file:
            file.execute("DELETE FROM class WHERE code = ? AND teacher = ?", (code, teacher))

    def sweep(self) -> None:
        """Removes the classes that are over; a server calls it every minute.

        Raises:
            ClassError: if the file cannot be written.
        """
        with self.database.reading() as file:
            rows = file.execute("SELECT code, seen FROM class").fetchall() if file else []
        over = [(code, seen) for code, seen in rows if self._gone(seen)]
        if over:
            with self.database.writing() as file:
                file.executemany("DELETE FROM class WHERE code = ? AND seen = ?", over)

    def _gone(self, seen: float) -> bool:
        """Whether so old a sign is believed: a clock that was set is not, until signs have come by the new one."""
        now = self._now()
        return self._clock.even_for(_EVEN_S, now) and abs(now - seen) > LIFE_S


def _check_room(file: sqlite3.Connection, code: str) -> None:
    row = file.execute(
        "SELECT (SELECT count(*) FROM member WHERE member.code = class.code) FROM class WHERE code = ?",
        (code,),
    ).fetchone()
    if row is None:
        raise ClassError("this class is over")
    if row[0] >= MOST_MEMBERS:
        raise ClassError(f"this class is full: {MOST_MEMBERS} have joined it")
