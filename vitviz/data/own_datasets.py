"""Users' own datasets on disk, beside the runs that are trained on them, under names that nobody can guess.

A trainer is another process, perhaps on another machine, so memory is no place for them. What nobody has used for
`KEEP_S` is removed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vitviz.data.cache import read_dataset, write_dataset
from vitviz.data.dataset import Dataset, DatasetError, Labels
from vitviz.heartbeat import Clock
from vitviz.text import reason

if TYPE_CHECKING:
    from vitviz.data.folder import OwnPictures

PREFIX = "own:"
KEEP_S = 6 * 3600.0
SETTLE_S = 600.0  # after the clock was set or the machine slept: who uses a set says so first
MAX_STORED_BYTES = 2 * 2**30  # of all users' sets together
MOST_NAMED = 5  # files that were left out, by name
_NAME = re.compile(r"own:[A-Za-z0-9_-]{22}")
_SETS = "sets"
_clock = Clock(60.0)


@dataclass(frozen=True)
class OwnNote:
    """Facts about a user's dataset, read without loading it."""

    name: str  # as a run's config names it
    title: str
    image_size: int
    classes: tuple[str, ...]
    train_counts: tuple[int, ...]  # images per class
    test_counts: tuple[int, ...]
    left_out: int
    reasons: tuple[str, ...]  # of the first files that were left out
    owner: str = ""  # the visit that brought it, which alone may remove it


def is_own(name: str) -> bool:
    """Return True if this is the name of a user's set, there or not."""
    return _NAME.fullmatch(name) is not None


def spoken(name: str) -> str:
    """Return a dataset's name as it is said to a user: that of an own set is a secret of its link."""
    return "your own images" if is_own(name) else name


def keep_pictures(pictures: OwnPictures, title: str, runs_folder: Path, owner: str = "") -> OwnNote:
    """Store a set of a visit; its name is unguessable, and whoever knows it may see the images.

    Raises:
        DatasetError: if there is no room for it, or it cannot be written.
    """
    data = pictures.dataset
    name = f"{PREFIX}{secrets.token_urlsafe(16)}"
    with suppress(OSError):  # what cannot be removed cannot be written either, which is said below
        sweep(runs_folder)
    stored = sum(_size_and_age(path)[0] for path in (runs_folder / _SETS).glob("*.npz"))
    if stored + data.train_images.nbytes + data.test_images.nbytes > MAX_STORED_BYTES:
        raise DatasetError("This server has no room for another set of images now; try again later.")
    note = OwnNote(
        name=name,
        title=title,
        image_size=data.picture_shape[0],
        classes=data.classes,
        train_counts=_counts(data.labels_of("train"), len(data.classes)),
        test_counts=_counts(data.labels_of("test"), len(data.classes)),
        left_out=len(pictures.skipped),
        reasons=tuple(f"{skipped.name}: {skipped.reason}" for skipped in pictures.skipped[:MOST_NAMED]),
        owner=owner,
    )
    arrays, words = _files(name, runs_folder)
    try:
        write_dataset(data, arrays)
        words.write_text(json.dumps(asdict(note)))
    except OSError as error:
        for path in (arrays, words):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        raise DatasetError(f"The images could not be stored ({reason(error)}).") from error
    return note


def _counts(labels: Labels, classes: int) -> tuple[int, ...]:
    return tuple(np.bincount(labels, minlength=classes).tolist())


def own_note(name: str, runs_folder: Path) -> OwnNote | None:
    """Return what is known of a set; None where there is no such set, or no longer."""
    if not is_own(name):
        return None
    arrays, words = _files(name, runs_folder)
    try:
        values = json.loads(words.read_bytes())
        made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return OwnNote(**made) if arrays.is_file() else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def load_own(name: str, runs_folder: Path | None) -> Dataset:
    """Return a user's set by its name.

    Raises:
        DatasetError: if there is no such set, or no longer.
    """
    gone = DatasetError("These images are no longer on the server: upload them again.")
    if runs_folder is None or not is_own(name):
        raise gone
    arrays, _ = _files(name, runs_folder)
    try:
        return _read(name, arrays, arrays.stat().st_mtime_ns)
    except (OSError, DatasetError) as error:
        raise gone from error


@lru_cache(maxsize=2)
def _read(name: str, path: Path, modified_ns: int) -> Dataset:
    return read_dataset(name, path)


def touch(name: str, runs_folder: Path) -> None:
    """Say that somebody uses a set."""
    if is_own(name):
        _, words = _files(name, runs_folder)
        with suppress(OSError):  # it is gone, or its folder cannot be written: it is read all the same
            os.utime(words)


def remove(name: str, runs_folder: Path) -> None:
    """Forget a set at once; a run that trains on it has it in memory and goes on.

    Raises:
        OSError: if its folder cannot be written.
    """
    if is_own(name):
        for path in _files(name, runs_folder):
            path.unlink(missing_ok=True)
        _read.cache_clear()


def sweep(runs_folder: Path) -> None:
    """Remove every set that nobody has used for `KEEP_S`, and what a write that was cut off has left.

    Not for `SETTLE_S` after the clock was set or the machine slept; a time that has yet to come counts as now's.

    Raises:
        OSError: if the folder cannot be written.
    """
    if not _clock.even_for(SETTLE_S, time.time()):
        return
    for arrays in (runs_folder / _SETS).glob("*.npz"):
        words = arrays.with_suffix(".json")
        age = min(_size_and_age(path)[1] for path in (arrays, words))
        if age > KEEP_S:
            remove(f"{PREFIX}{arrays.stem}", runs_folder)
            arrays.unlink(missing_ok=True)
        elif age < -60:  # would be kept until then
            for path in (arrays, words):
                with suppress(OSError):
                    os.utime(path)


def _size_and_age(path: Path) -> tuple[int, float]:
    """(bytes, seconds since it was written) of a file that another visit may remove at this moment: (0, infinity)."""
    try:
        found = path.stat()
    except OSError:
        return 0, inf
    return found.st_size, time.time() - found.st_mtime


def _files(name: str, runs_folder: Path) -> tuple[Path, Path]:
    """Return (arrays, what is said about them); the name has been checked."""
    stem = runs_folder / _SETS / name.removeprefix(PREFIX)
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
