"""Decide who may change a run: the session that created it, and holders of its editing key. Others only view it.

Sessions are named by a hash that is no proof of identity (see `RunConfig.owner`): the caller knows which session it
serves. Only links created by the owner contain the editing key; the run's directory stores its hash, and exports
contain neither.
"""

import hashlib
import hmac
import json
import secrets
from pathlib import Path

from vitviz.locks import locked
from vitviz.training.atomic_files import read_json, write_whole
from vitviz.training.run_directory import Run

MOST_EDITORS = 64
_NAME = "editors.json"
# Held from reading to writing, so that concurrent joins do not overwrite each other.
_LOCK = ".editors.lock"


def may_change(run: Run, session: str) -> bool:
    """Return True if a session may control, rename and delete a run."""
    root_run = run.root_run
    return bool(session) and (root_run.config().owner == session or session in _editors(root_run.directory))


def share(run: Run) -> str:
    """Return a new editing key, which invalidates the previous one."""
    key, directory = secrets.token_urlsafe(16), run.root_run.directory
    with locked(directory / _LOCK):
        _write(directory, _hash(key), _editors(directory))
    return key


def unshare(run: Run) -> None:
    """Revoke the key and all permissions except the owner's."""
    directory = run.root_run.directory
    with locked(directory / _LOCK):
        (directory / _NAME).unlink(missing_ok=True)


def is_shared(run: Run) -> bool:
    """Return True if the run has an active key."""
    return (run.root_run.directory / _NAME).is_file()


def join(run: Run, session: str, key: str) -> bool:
    """Grant a session with the right key permission; False if the key is wrong or too many sessions have it."""
    directory = run.root_run.directory
    if not is_shared(run):  # no lock file for invalid attempts
        return False
    with locked(directory / _LOCK):
        return _let_in(directory, session, key)


def _let_in(directory: Path, session: str, key: str) -> bool:
    stored_hash = read_json(directory / _NAME).get("key")
    editors = _editors(directory)
    if not isinstance(stored_hash, str) or not hmac.compare_digest(stored_hash, _hash(key)):
        return False
    if session not in editors:
        if len(editors) >= MOST_EDITORS:
            return False
        _write(directory, stored_hash, (*editors, session))
    return True


def _editors(directory: Path) -> tuple[str, ...]:
    editors = read_json(directory / _NAME).get("editors", [])
    return tuple(str(session) for session in editors) if isinstance(editors, list) else ()


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _write(directory: Path, key_hash: str, editors: tuple[str, ...]) -> None:
    write_whole(directory / _NAME, json.dumps({"key": key_hash, "editors": editors}).encode())
