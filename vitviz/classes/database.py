"""Open the SQLite database of classes, which every process of the server reads and writes.

Each process has one connection to read and one to write, in WAL mode: readers never wait, writers wait at most a
second, so no page hangs. A file that was removed or replaced is reopened. Queries of many learners are cached until the
file changes.
"""

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
CACHE_S = 1.0  # two writes within a tick of the file's clock may leave its stamp unchanged
_MAX_CACHED = 512  # query results
VERSION = 2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS class (
  code TEXT PRIMARY KEY, teacher TEXT NOT NULL, opened REAL NOT NULL, seen REAL NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, shown TEXT NOT NULL DEFAULT '', questions INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS member (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, who TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
  follows INTEGER NOT NULL, seen REAL NOT NULL, PRIMARY KEY (code, who)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS picture (
  id TEXT PRIMARY KEY, code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, shown REAL NOT NULL, png BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS question (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, number INTEGER NOT NULL, asked TEXT NOT NULL,
  key BLOB, stage TEXT NOT NULL DEFAULT 'open', found TEXT NOT NULL DEFAULT '', PRIMARY KEY (code, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answered (
  code TEXT NOT NULL, number INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (code, number, mark),
  FOREIGN KEY (code, number) REFERENCES question ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
  code TEXT NOT NULL, number INTEGER NOT NULL, value REAL NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (code, number, value), FOREIGN KEY (code, number) REFERENCES question ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (
  code TEXT NOT NULL, number INTEGER NOT NULL, answer TEXT NOT NULL, count INTEGER NOT NULL,
  shown INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (code, number, answer), FOREIGN KEY (code, number) REFERENCES question ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS teacher_key (
  code TEXT PRIMARY KEY REFERENCES class ON DELETE CASCADE, hash BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS key_holder (
  code TEXT NOT NULL REFERENCES class ON DELETE CASCADE, owner TEXT NOT NULL, PRIMARY KEY (code, owner)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS challenge (
  code TEXT PRIMARY KEY REFERENCES class ON DELETE CASCADE, ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
  code TEXT NOT NULL REFERENCES challenge ON DELETE CASCADE, run TEXT NOT NULL, who TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (code, run)
) WITHOUT ROWID;
"""


class ClassError(Exception):
    """An operation on a class failed; the message is one sentence for the user."""


def check_open(file: sqlite3.Connection, code: str) -> None:
    """Raise ClassError if a class is closed."""
    if file.execute("SELECT 1 FROM class WHERE code = ?", (code,)).fetchone() is None:
        raise ClassError("this class is closed")


class Database:
    """The database of classes; every query raises ClassError if the database cannot be read.

    Args:
        path: of the file; it and its folder are created when the first class is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader, self._writer = _Connection(path), _Connection(path)
        self._files = (str(path), f"{path}-wal")
        self._query_lock = threading.Lock()
        self._cache: dict[Hashable, tuple[object, float, list[Any]]] = {}  # (stamp of the file, time, rows)

    def query_cached(self, key: Hashable, query: Callable[[], list[R]]) -> list[R]:
        """Return a query's list, cached until the file changes.

        Args:
            key: of the cache; names everything that the list depends on.
        """
        if (cached := self._get_cached(key)) is not None:
            return cached
        if not self._query_lock.acquire(timeout=2 * WAIT_S):
            raise ClassError(_BUSY)
        try:
            if (cached := self._get_cached(key)) is not None:  # another thread has queried meanwhile
                return cached
            stamp, time_s = self._stamp(), time.monotonic()
            rows = query()
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[key] = stamp, time_s, rows
            return rows
        finally:
            self._query_lock.release()

    def _get_cached(self, key: Hashable) -> list[Any] | None:
        stamp, time_s, rows = self._cache.get(key, (None, 0.0, []))
        return rows if stamp == self._stamp() and time.monotonic() - time_s < CACHE_S else None

    def _stamp(self) -> object:
        """Return a value that changes when the file is written."""
        return tuple(map(_stat_file, self._files))

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a connection for queries; None if there is no file."""
        with _translate_errors(), self._reader.acquire() as connection:
            yield connection

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, which is rolled back on any error.

        Raises:
            ClassError: if the database cannot be written, is locked for too long, or is missing.
        """
        with _translate_errors(), self._writer.acquire(create) as connection:
            if connection is None:
                raise ClassError("this server has no open class")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def fetch(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query; none if there is no file."""
        with self.reading() as file:
            return file.execute(query, values).fetchall() if file else []

    def execute(self, statement: str, *values: object) -> None:
        """Write with one statement, as in `writing`."""
        with self.writing() as file:
            file.execute(statement, values)

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class _Connection:
    """One connection to the current file, used by one thread of a process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None
        self._file: tuple[int, ...] | None = None  # device and inode

    @contextmanager
    def acquire(self, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        if not self._lock.acquire(timeout=2 * WAIT_S):
            raise ClassError(_BUSY)
        try:
            yield self._connect(create)
        except sqlite3.Error as error:
            if not isinstance(error, sqlite3.IntegrityError):
                self._drop()  # the next use reconnects
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()  # Python 3.13 warns about a connection that is collected open

    def _connect(self, create: bool) -> sqlite3.Connection | None:
        file = _identify_file(self._path)
        if file is None and not create:
            self._drop()
            return None
        if self._open is None or file != self._file:
            self._drop()
            self._open = _open_connection(self._path, create)
            self._file = _identify_file(self._path)
        return self._open

    def _drop(self) -> None:
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open.close()
        self._open, self._file = None, None


def _stat_file(path: str) -> tuple[int, int, int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _identify_file(path: Path) -> tuple[int, ...] | None:
    stamp = _stat_file(str(path))
    return stamp and stamp[:2]


def _open_connection(path: Path, create: bool) -> sqlite3.Connection:
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
        _check_version(connection)  # first: a newer version's file stays as it is
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # deleted classes leave no data in the file
        _create_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create missing tables, also in a file of an older version, which lacked some."""
    if _read_version(connection) < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        if _read_version(connection) < VERSION:  # another process may have been first
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def _check_version(connection: sqlite3.Connection) -> None:
    """Raise ClassError if a newer version of this app created the file; open classes may be in it."""
    if (version := _read_version(connection)) > VERSION:
        raise ClassError(
            f"{NAME} on this server is of version {version} and this app reads version {VERSION}:"
            " the operator can update the app, which keeps open classes"
        )


def _read_version(connection: sqlite3.Connection) -> int:
    with closing(connection.execute("PRAGMA user_version")) as cursor:
        return int(cursor.fetchone()[0])


_BUSY = "the database of classes is busy; try again in a moment"


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise ClassError with one sentence for errors of SQLite or the file system."""
    try:
        yield
    except sqlite3.Error as error:
        raise ClassError(_describe_error(error)) from error
    except OSError as error:
        raise ClassError(f"the database of classes cannot be used ({error.strerror or error})") from error


def _describe_error(error: sqlite3.Error) -> str:
    message = str(error)
    if "locked" in message or "busy" in message:
        return _BUSY
    if "readonly" in message:
        return "the database of classes cannot be written on this server"
    if "full" in message:
        return "this server's disk is full"
    if "malformed" in message or "not a database" in message:
        return f"the database of classes on this server is damaged: the operator can delete {NAME}"
    return f"the database of classes cannot be used ({cut(message, 80)})"
