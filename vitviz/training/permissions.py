"""Decide who may change a run: the session that created it, and holders of its editing key. Others only view it.

Visits are named by a hash that proves nothing (see `RunConfig.owner`): the caller knows whose visit it serves. What
lets others in is a key of its own, which stands in a link only where the maker makes one for that; the run's directory
holds its hash, and neither travels in an archive.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from pathlib import Path

from vitviz.file_lock import locked
from vitviz.training.files import read_json, write_whole
from vitviz.training.run_directory import Run

MOST_EDITORS = 64
_NAME = "editors.json"
# Held from looking to writing: of two who come in at once one would be written out again.
_LOCK = ".editors.lock"


def may_change(run: Run, visit: str) -> bool:
    """Return True if a visit may steer, rename and delete a run; a member is its experiment's."""
    whole = run.whole
    return bool(visit) and (whole.config().owner == visit or visit in _editors(whole.directory))


def share(run: Run) -> str:
    """Return a new key that lets its holders change the run; an earlier one lets nobody in any more."""
    key, directory = secrets.token_urlsafe(16), run.whole.directory
    with locked(directory / _LOCK):
        _write(directory, _hash(key), _editors(directory))
    return key


def unshare(run: Run) -> None:
    """Take the key back, and send everybody out but the maker."""
    directory = run.whole.directory
    with locked(directory / _LOCK):
        (directory / _NAME).unlink(missing_ok=True)


def is_shared(run: Run) -> bool:
    """Return True if others may change it or could come in."""
    return (run.whole.directory / _NAME).is_file()


def join(run: Run, visit: str, key: str) -> bool:
    """Let a visit in that has the key; False where the key is not this run's, or too many are in."""
    directory = run.whole.directory
    if not is_shared(run):  # nobody's lock is made for who only tries
        return False
    with locked(directory / _LOCK):
        return _let_in(directory, visit, key)


def _let_in(directory: Path, visit: str, key: str) -> bool:
    said = read_json(directory / _NAME).get("key")
    editors = _editors(directory)
    if not isinstance(said, str) or not hmac.compare_digest(said, _hash(key)):
        return False
    if visit not in editors:
        if len(editors) >= MOST_EDITORS:
            return False
        _write(directory, said, (*editors, visit))
    return True


def _editors(directory: Path) -> tuple[str, ...]:
    found = read_json(directory / _NAME).get("editors", [])
    return tuple(str(visit) for visit in found) if isinstance(found, list) else ()


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _write(directory: Path, key_hash: str, editors: tuple[str, ...]) -> None:
    write_whole(directory / _NAME, json.dumps({"key": key_hash, "editors": editors}).encode())
