"""Lock a run so that one process trains it at a time, among all servers on one runs folder.

A claim is the file claim.json in the run's directory. Whoever creates it holds the run, and says every few seconds
that it lives (the file's time); one that has been silent for `STALE_S` has died, and its claim may be taken over.
Times are those of the file system, which all machines that share the folder see alike.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from contextlib import suppress
from pathlib import Path

from vitviz.heartbeat import Heartbeats
from vitviz.training.files import read_json

BEAT_S = 5.0
STALE_S = 20.0
_NAME = "claim.json"
_holders = Heartbeats(STALE_S)


class ClaimLost(Exception):
    """Another process took the run over: this one may write nothing more of it."""


def new_token() -> str:
    """Return the name under which one order of one server claims a run."""
    return secrets.token_hex(8)


def claim_run(directory: Path, token: str) -> bool:
    """Claim a run, or renew one's own claim; False where another holds it. Of several at once one succeeds."""
    path = directory / _NAME
    for _ in range(4):
        if _create(path, token) or renew(directory, token):
            return True
        if is_held(directory):
            return False
        _clear_away(path)
    return False


def renew(directory: Path, token: str) -> bool:
    """Say that the holder lives; False where the claim is not (or no longer) of this token."""
    if not is_claimed_by(directory, token):
        return False
    with suppress(OSError):
        os.utime(directory / _NAME)
        return True
    return False


def release(directory: Path, token: str) -> None:
    """Give a run back; a claim of another stays."""
    if is_claimed_by(directory, token):
        with suppress(OSError):
            (directory / _NAME).unlink()


def is_claimed_by(directory: Path, token: str) -> bool:
    """Return True if the claim is this token's."""
    return read_json(directory / _NAME).get("token") == token


def is_held(directory: Path) -> bool:
    """Return True if somebody who lives holds the run."""
    return not _stale(directory / _NAME)


def _create(path: Path, token: str) -> bool:
    said = {"token": token, "host": platform.node(), "pid": os.getpid()}
    try:
        file = open(path, "x")  # noqa: SIM115
    except (FileExistsError, FileNotFoundError):  # claimed, or the run was deleted
        return False
    try:
        with file:
            file.write(json.dumps(said))
    except OSError:  # a full disk leaves no claim of nobody's
        path.unlink(missing_ok=True)
        raise
    return True


def _clear_away(path: Path) -> None:
    """Remove a claim whose holder died; of several that would, one looks again and removes it."""
    lock = path.with_name(".claim-lock")
    try:
        lock.open("x").close()
    except FileExistsError:
        if _stale(lock, missing=False):  # who held it died over these three lines
            lock.unlink(missing_ok=True)
        return
    try:
        if _stale(path, missing=False):
            path.unlink(missing_ok=True)
    finally:
        lock.unlink(missing_ok=True)


def _stale(path: Path, missing: bool = True) -> bool:
    """Return True if the holder has been silent for too long; of no file `missing`.

    Who is about to remove a file takes none for lively: another may make one before it is removed.
    """
    try:
        return not _holders.lives(str(path), path.stat().st_mtime, _read_file_time(path.parent))
    except FileNotFoundError:
        return missing


def _read_file_time(directory: Path) -> float:
    """Return the file system's time; this machine's where nothing can be written."""
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
