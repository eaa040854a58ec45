"""Store classes (teacher, learners, shared view) in one database for every process of the server.

A class belongs to the session that opened it, identified by the hash of its token (see `RunConfig.owner`), so no link
to a class makes anyone a teacher; the teacher's key, of which only a hash is stored, does until it is revoked. A
learner is stored as a hash of token and class, which identifies nobody in another class. A class expires twelve hours
after its teacher's last heartbeat. Every method raises ClassError if the database cannot be read or written.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitviz.classes.codes import generate_code
from vitviz.classes.database import ClassError, Database, check_open
from vitviz.classes.shared_view import SharedView
from vitviz.heartbeat import Clock

LIFE_S = 12 * 3600.0  # after the teacher's last heartbeat
PRESENT_S = 25.0  # a learner without a heartbeat for this long counts as gone
HEARTBEAT_S = 10.0  # interval of heartbeats
MAX_CLASSES = 200
MAX_PER_TEACHER = 3
MAX_MEMBERS = 500
MAX_PER_HOUR = 60  # classes opened
MAX_NAME_LENGTH = 24
_STEADY_S = 600.0  # after a jump, the clock is trusted again after this long


@dataclass(frozen=True)
class ClassState:
    """The state of a class.

    version: increases with every shared view. text: the shared view as stored. challenge: True if runs can be
        submitted.
    """

    code: str
    teacher: str
    version: int
    text: str
    challenge: bool
    key_holders: frozenset[str] = frozenset()  # sessions that the teacher's key made teachers

    def is_led_by(self, owner: str) -> bool:
        return owner == self.teacher or owner in self.key_holders

    @property
    def shown(self) -> SharedView | None:
        """The view that the teacher shares; None before the first one."""
        return SharedView.parse(self.text)


@dataclass(frozen=True)
class Attendance:
    """The number of learners who are present, and of those who follow the teacher."""

    present: int
    following: int


# Condition on `class`: this session opened the class, or holds the teacher's key.
LEADS = "(teacher = ? OR code IN (SELECT code FROM key_holder WHERE owner = ?))"


def hash_member(code: str, token: str) -> str:
    """Return a session's anonymous id in a class; it differs in every class."""
    return hashlib.sha256(f"class:{code}:{token}".encode()).hexdigest()[:32]


def clean_name(name: str) -> str:
    """Return a nickname in one printable line of at most `MAX_NAME_LENGTH` characters; '' for none."""
    printable = "".join(c if c.isprintable() else " " for c in name[: 4 * MAX_NAME_LENGTH])
    return " ".join(printable.split())[:MAX_NAME_LENGTH]


class ClassStore:
    """The classes in a database.

    Args:
        get_time_s: returns the time in seconds since 1970.
    """

    def __init__(self, path: Path, get_time_s: Callable[[], float] = time.time) -> None:
        self.database = Database(path)
        self._get_time_s = get_time_s
        self._clock = Clock(60.0)

    def open(self, teacher: str) -> str:
        """Open a class and return its code.

        Raises:
            ClassError: if there are too many classes, or the database cannot be written.
        """
        self.sweep()
        time_s, code = self._get_time_s(), generate_code()
        with self.database.writing(create=True) as file:
            opened, recent, total = file.execute(
                "SELECT coalesce(sum(teacher = ?), 0), coalesce(sum(abs(opened - ?) < 3600), 0), count(*) FROM class",
                (teacher, time_s),
            ).fetchone()
            if opened >= MAX_PER_TEACHER:
                raise ClassError(f"you already have {opened} open classes: close one first")
            if total >= MAX_CLASSES or recent >= MAX_PER_HOUR:
                raise ClassError("this server has reached its maximum of classes; try again in an hour")
            file.execute(
                "INSERT INTO class (code, teacher, opened, seen) VALUES (?, ?, ?, ?)",
                (code, teacher, time_s, time_s),
            )
        return code

    def load(self, code: str) -> ClassState | None:
        """Return the class of a code; None if it does not exist or has expired."""
        rows = self.database.query_cached(
            ("class", code),
            lambda: self.database.fetch(
                "SELECT code, teacher, version, shown,"
                " (SELECT NOT ended FROM challenge WHERE challenge.code = class.code) IS 1, seen,"
                " (SELECT group_concat(owner) FROM key_holder WHERE key_holder.code = class.code)"
                " FROM class WHERE code = ?",
                code,
            ),
        )
        if not rows or self._is_expired(rows[0][5]):
            return None
        stored_code, teacher, version, text, challenge, _, holders = rows[0]
        key_holders = frozenset((holders or "").split(","))
        return ClassState(stored_code, teacher, version, text, bool(challenge), key_holders)

    def list_codes(self, teacher: str) -> list[str]:
        """Return the codes of the classes that a session leads, newest first."""
        query = f"SELECT code, seen FROM class WHERE {LEADS} ORDER BY opened DESC"
        rows = self.database.query_cached(
            ("own", teacher), lambda: self.database.fetch(query, teacher, teacher)
        )
        return [code for code, seen in rows if not self._is_expired(seen)]

    def show(self, code: str, view: SharedView) -> int:
        """Share a view with the class and return its new version.

        Raises:
            ClassError: if the class is closed or the database cannot be written.
        """
        with self.database.writing() as file:
            row = file.execute(
                "UPDATE class SET shown = ?, version = version + 1, seen = ? WHERE code = ? RETURNING version",
                (str(view), self._get_time_s(), code),
            ).fetchone()
        if row is None:
            raise ClassError("this class is closed")
        return int(row[0])

    def record_teacher(self, code: str) -> None:
        """Record the teacher's heartbeat, due at least every twelve hours."""
        self.database.execute("UPDATE class SET seen = ? WHERE code = ?", self._get_time_s(), code)

    def record_learner(self, code: str, who: str, follows: bool, name: str = "") -> None:
        """Record a learner's heartbeat, due every `HEARTBEAT_S`.

        Raises:
            ClassError: if the class is full or closed, or the database cannot be written.
        """
        time_s = self._get_time_s()
        with self.database.writing() as file:
            updated = file.execute(
                "UPDATE member SET follows = ?, name = ?, seen = ? WHERE code = ? AND who = ?",
                (follows, clean_name(name), time_s, code, who),
            ).rowcount
            if updated:
                return
            check_open(file, code)
            (members,) = file.execute("SELECT count(*) FROM member WHERE code = ?", (code,)).fetchone()
            if members >= MAX_MEMBERS:
                raise ClassError(f"this class is full with {MAX_MEMBERS} learners")
            file.execute(
                "INSERT INTO member (code, who, name, follows, seen) VALUES (?, ?, ?, ?, ?)",
                (code, who, clean_name(name), follows, time_s),
            )

    def load_follows(self, code: str, who: str) -> bool:
        """Return False if a learner has stopped following; True for new learners."""
        rows = self.database.fetch("SELECT follows FROM member WHERE code = ? AND who = ?", code, who)
        return not rows or bool(rows[0][0])

    def leave(self, code: str, who: str) -> None:
        """Remove a learner from a class."""
        self.database.execute("DELETE FROM member WHERE code = ? AND who = ?", code, who)

    def count_present(self, code: str) -> Attendance:
        """Return the number of learners who are present."""
        time_s = self._get_time_s()
        query = "SELECT count(*), coalesce(sum(follows), 0) FROM member WHERE code = ? AND abs(? - seen) < ?"
        key = "present", code, int(time_s)
        rows = self.database.query_cached(key, lambda: self.database.fetch(query, code, time_s, PRESENT_S))
        return Attendance(*rows[0]) if rows else Attendance(0, 0)

    def close(self, code: str, teacher: str) -> None:
        """Close a class that this session leads, and delete everything that belongs to it."""
        self.database.execute(f"DELETE FROM class WHERE code = ? AND {LEADS}", code, teacher, teacher)

    def sweep(self) -> None:
        """Delete expired classes; a server calls this every minute."""
        rows = self.database.fetch("SELECT code, seen FROM class")
        expired = [(code, seen) for code, seen in rows if self._is_expired(seen)]
        if expired:
            with self.database.writing() as file:
                file.executemany("DELETE FROM class WHERE code = ? AND seen = ?", expired)

    def _is_expired(self, seen: float) -> bool:
        """Return True if the last heartbeat is too old by a clock that has not jumped recently."""
        time_s = self._get_time_s()
        return self._clock.even_for(_STEADY_S, time_s) and abs(time_s - seen) > LIFE_S


def create_key(classes: ClassStore, code: str, owner: str) -> str:
    """Return a new key of the class's teacher, in place of an earlier one, which is revoked.

    Raises:
        ClassError: if this session does not lead the class, or the database cannot be written.
    """
    key = secrets.token_urlsafe(24)
    revoke_key(classes, code, owner)
    classes.database.execute("INSERT INTO teacher_key VALUES (?, ?)", code, _hash_key(code, key))
    return key


def revoke_key(classes: ClassStore, code: str, owner: str) -> None:
    """Revoke the teacher's key and every lead that it opened; this session and the opener go on leading.

    Raises:
        ClassError: if this session does not lead the class, or the database cannot be written.
    """
    with classes.database.writing() as file:
        query = f"SELECT 1 FROM class WHERE code = ? AND {LEADS}"
        if file.execute(query, (code, owner, owner)).fetchone() is None:
            raise ClassError("this browser does not lead the class")
        file.execute("DELETE FROM teacher_key WHERE code = ?", (code,))
        file.execute("DELETE FROM key_holder WHERE code = ? AND owner != ?", (code, owner))


def accept_key(classes: ClassStore, code: str, key: str, owner: str) -> bool:
    """Make a session a teacher of the class by its key; return False if the key is wrong or was revoked."""
    rows = classes.database.fetch("SELECT hash FROM teacher_key WHERE code = ?", code)
    if not rows or not hmac.compare_digest(rows[0][0], _hash_key(code, key)) or classes.load(code) is None:
        return False
    classes.database.execute("INSERT OR IGNORE INTO key_holder VALUES (?, ?)", code, owner)
    return True


def _hash_key(code: str, key: str) -> bytes:
    return hashlib.sha256(f"key:{code}:{key}".encode()).digest()
