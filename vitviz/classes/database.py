"""The file of classes: SQLite in WAL, which every process of the server reads and writes; what goes wrong is said.

A process holds one connection to read and one to write. Readers never wait for a writer; who writes waits for another
for at most a second, so that no page hangs. A file that was removed or replaced meanwhile is opened anew. What many
learners ask is looked up once, and again when the file has been written to.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from vitviz.text import cut

R = TypeVar("R")
NAME = "classes.sqlite"
WAIT_S = 1.0  # for another writer
TRUSTED_S = 1.0  # two writes within a tick of the file's clock may leave it as it looked
_MOST = 512  # answers that are kept
VERSION = 1
_SCHEMA = """
CREATE TABLE class (
  code TEXT PRIMARY KEY, teacher TEXT NOT NULL, opened REAL NOT NULL, seen REAL NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, shown TEXT NOT NULL DEFAULT '', questions INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE member (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, who TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  follows INTEGER NOT NULL, seen REAL NOT NULL, PRIMARY KEY (code, who)
) WITHOUT ROWID;
CREATE TABLE picture (
  id TEXT PRIMARY KEY, code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, shown REAL NOT NULL, png BLOB NOT NULL
);
CREATE TABLE question (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, number INTEGER NOT NULL, asked TEXT NOT NULL,
  key BLOB, stage TEXT NOT NULL DEFAULT 'open', found TEXT NOT NULL DEFAULT '', PRIMARY KEY (code, number)
) WITHOUT ROWID;
CREATE TABLE answered (
  code TEXT NOT NULL, number INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (code, number, mark),
  FOREIGN KEY (code, number) REFERENCES question ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE tally (
  code TEXT NOT NULL, number INTEGER NOT NULL, value REAL NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (code, number, value), FOREIGN KEY (code, number) REFERENCES question ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE challenge (
  code TEXT PRIMARY KEY REFERENCES class ON DELETE CASCADE, ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE entry (
  code TEXT NOT NULL REFERENCES challenge ON DELETE CASCADE, run TEXT NOT NULL, who TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (code, run)
) WITHOUT ROWID;
"""


class ClassError(Exception):
    """What cannot be done in a class now; one sentence says why."""


class Database:
    """A file of classes.

    Args:
        path: of the file; it and its folder are made when the first class is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader, self._writer = _Connection(path), _Connection(path)
        self._files = (str(path), f"{path}-wal")
        self._asking = threading.Lock()
        self._known: dict[Hashable, tuple[object, float, Any]] = {}  # (the file as it was, when, the answer)

    def known(self, what: Hashable, ask: Callable[[sqlite3.Connection | None], R]) -> R:
        """What `ask` finds, of a connection or of None where there is no file, since the file was last written to.

        Args:
            what: the question, in which all that the answer hangs on is named.

        Raises:
            ClassError: if the file cannot be read.
        """
        if (found := self._still(what)) is not None:
            return found[0]  # type: ignore[no-any-return]
        if not self._asking.acquire(timeout=2 * WAIT_S):
            raise ClassError(_BUSY)
        try:
            if (found := self._still(what)) is not None:  # another has asked meanwhile
                return found[0]  # type: ignore[no-any-return]
            mark, now = self._mark(), time.monotonic()
            with self.reading() as file:
                answer = ask(file)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[what] = mark, now, answer
            return answer
        finally:
            self._asking.release()

    def _still(self, what: Hashable) -> tuple[Any] | None:
        """The answer that still holds, in a tuple."""
        mark, at, answer = self._known.get(what, (None, 0.0, None))
        return (answer,) if mark == self._mark() and time.monotonic() - at < TRUSTED_S else None

    def _mark(self) -> object:
        """What is another once the file has been written to."""
        return tuple(map(_looks, self._files))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection to ask; None where there is no file.

        Raises:
            ClassError: if the file cannot be read.
        """
        with _said(), self._reader.held() as connection:
            yield connection

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction of its own, which is undone where anything is raised.

        Args:
            create: make the file where there is none.

        Raises:
            ClassError: if the file cannot be written, is being written for too long, or is not there.
        """
        with _said(), self._writer.held(create) as connection:
            if connection is None:
                raise ClassError("there is no class on this server any more")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        """Lets go of the file."""
        self._reader.close()
        self._writer.close()


class _Connection:
    """One connection for all threads of a process, one thread at a time, to the file that is there now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which file it is

    @contextmanager
    def held(self, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        if not self._lock.acquire(timeout=2 * WAIT_S):
            raise ClassError(_BUSY)
        try:
            yield self._current(create)
        except sqlite3.Error as error:
            if not isinstance(error, sqlite3.IntegrityError):
                self._drop()  # whatever it is, the next use begins anew
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()  # Python 3.13 warns about a connection that is collected open

    def _current(self, create: bool) -> sqlite3.Connection | None:
        there = _which(self._path)
        if there is None and not create:
            self._drop()
            return None
        if self._open is None or there != self._file:
            self._drop()
            self._open = _connected(self._path, create)
            self._file = _which(self._path)
        return self._open

    def _drop(self) -> None:
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open.close()
        self._open, self._file = None, None


def _looks(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _which(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connected(path: Path, create: bool) -> sqlite3.Connection:
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
    address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(
        address,
        timeout=WAIT_S,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
        cached_statements=64,
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what goes with a class is not left in the file
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Makes the tables where there are none.

    Raises:
        ClassError: if another version of this app made them.
    """
    if _version(connection) == 0:
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection) == 0:  # another process may have been first
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    if (version := _version(connection)) != VERSION:
        raise ClassError(
            f"{NAME} is of version {version}, this app reads {VERSION}: the operator can remove it"
        )


def _version(connection: sqlite3.Connection) -> int:
    with closing(connection.execute("PRAGMA user_version")) as found:
        return int(found.fetchone()[0])


_BUSY = "the classes of this server are busy; try again in a moment"


@contextmanager
def _said() -> Iterator[None]:
    """One sentence for whatever SQLite or the file system say."""
    try:
        yield
    except sqlite3.Error as error:
        raise ClassError(_sentence(error)) from error
    except OSError as error:
        raise ClassError(f"the file of classes cannot be used ({error.strerror or error})") from error


def _sentence(error: sqlite3.Error) -> str:
    words = str(error)
    if "locked" in words or "busy" in words:
        return _BUSY
    if "readonly" in words:
        return "the file of classes cannot be written on this server"
    if "full" in words:
        return "this server's disk is full"
    if "malformed" in words or "not a database" in words:
        return f"the file of classes on this server is damaged: its operator can remove {NAME}"
    return f"the file of classes cannot be used ({cut(words, 80)})"
