"""Lock a run so that one process trains it at a time, among all servers on one runs folder.

The lock is the file claim.json in the run's directory. Its creator holds the run and renews the file's time every few
seconds; a lock not renewed for `STALE_S` is stale and can be taken over. Times are those of the file system, which all
machines that share the folder agree on.
"""

import json
import os
import platform
import secrets
import time
from contextlib import suppress
from pathlib import Path

from vitviz.heartbeat import Heartbeats
from vitviz.training.atomic_files import read_json

BEAT_S = 5.0
STALE_S = 20.0
_NAME = "claim.json"
_holders = Heartbeats(STALE_S)


class ClaimLost(Exception):
    """Another process has taken the lock; this one must not write any more."""


def new_token() -> str:
    """Return a new random token of a lock."""
    return secrets.token_hex(8)


def claim_run(directory: Path, token: str) -> bool:
    """Lock a run, or renew the lock; False if another process holds it. At most one caller succeeds."""
    path = directory / _NAME
    for _ in range(4):
        if _create(path, token) or renew(directory, token):
            return True
        if is_held(directory):
            return False
        _clear_away(path)
    return False


def renew(directory: Path, token: str) -> bool:
    """Renew the lock's time; False if this token does not hold it."""
    if not is_claimed_by(directory, token):
        return False
    with suppress(OSError):
        os.utime(directory / _NAME)
        return True
    return False


def release(directory: Path, token: str) -> None:
    """Release the lock if this token holds it."""
    if is_claimed_by(directory, token):
        with suppress(OSError):
            (directory / _NAME).unlink()


def is_claimed_by(directory: Path, token: str) -> bool:
    """Return True if this token holds the lock."""
    return read_json(directory / _NAME).get("token") == token


def list_locked(root: Path) -> list[Path]:
    """Return the directories of the runs that are or were locked, without those whose lock was released."""
    return [path.parent for path in root.glob(f"*/{_NAME}")]


def is_held(directory: Path) -> bool:
    """Return True if a live process holds the lock."""
    return not _stale(directory / _NAME)


def _create(path: Path, token: str) -> bool:
    values = {"token": token, "host": platform.node(), "pid": os.getpid()}
    try:
        file = open(path, "x")  # noqa: SIM115
    except (FileExistsError, FileNotFoundError):  # locked, or the run was deleted
        return False
    try:
        with file:
            file.write(json.dumps(values))
    except OSError:  # a full disk must not leave a lock without a holder
        path.unlink(missing_ok=True)
        raise
    return True


def _clear_away(path: Path) -> None:
    """Remove a stale lock; of several callers, one checks again and removes it."""
    lock = path.with_name(".claim-lock")
    try:
        lock.open("x").close()
    except FileExistsError:
        if _stale(lock, missing=False):  # its holder died in the lines below
            lock.unlink(missing_ok=True)
        return
    try:
        if _stale(path, missing=False):
            path.unlink(missing_ok=True)
    finally:
        lock.unlink(missing_ok=True)


def _stale(path: Path, missing: bool = True) -> bool:
    """Return True if the lock is stale; `missing` if there is no file.

    Callers that remove a stale lock pass missing=False: another process may create one in between.
    """
    try:
        return not _holders.lives(str(path), path.stat().st_mtime, _read_file_time(path.parent))
    except FileNotFoundError:
        return missing


def _read_file_time(directory: Path) -> float:
    """Return the file system's time; this machine's if the folder is read-only."""
    probe = directory / f".now-{secrets.token_hex(4)}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except FileNotFoundError:
        raise
    except OSError:
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
