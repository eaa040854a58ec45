"""Store uploaded datasets on disk under unguessable names, where trainers in other processes can read them.

A dataset that nobody has used for `KEEP_S` is deleted.
"""

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

from vitviz.data.dataset import Dataset, DatasetError, Labels
from vitviz.data.dataset_cache import read_dataset, write_dataset
from vitviz.heartbeat import Clock
from vitviz.text import reason
from vitviz.upload_limits import DATASETS_BYTES

if TYPE_CHECKING:
    from vitviz.data.dataset_zip import UploadedImages

PREFIX = "own:"
KEEP_S = 6 * 3600.0
SETTLE_S = 600.0  # after the clock was set or the machine slept, users of a dataset touch it first
MOST_NAMED = 5  # skipped files that are named
_NAME = re.compile(r"own:[A-Za-z0-9_-]{22}")
_SETS = "sets"
_clock = Clock(60.0)


@dataclass(frozen=True)
class UploadedNote:
    """Facts about a user's dataset, read without loading it."""

    name: str  # as a run's config names it
    title: str
    image_size: int
    classes: tuple[str, ...]
    train_counts: tuple[int, ...]  # images per class
    test_counts: tuple[int, ...]
    left_out: int
    reasons: tuple[str, ...]  # for the first skipped files
    owner: str = ""  # the session that uploaded it; only it may delete it


def is_uploaded(name: str) -> bool:
    """Return True if this has the form of an uploaded dataset's name."""
    return _NAME.fullmatch(name) is not None


def hide_secret_name(name: str) -> str:
    """Return a dataset's name for display; the name of an uploaded dataset is secret."""
    return "your own images" if is_uploaded(name) else name


def store_images(images: "UploadedImages", title: str, runs_folder: Path, owner: str = "") -> UploadedNote:
    """Store an uploaded dataset under an unguessable name; anyone who knows the name can see the images.

    Raises:
        DatasetError: if there is no room for it, or it cannot be written.
    """
    dataset = images.dataset
    name = f"{PREFIX}{secrets.token_urlsafe(16)}"
    with suppress(OSError):  # an unwritable folder is reported below
        sweep(runs_folder)
    stored = sum(_size_and_age(path)[0] for path in (runs_folder / _SETS).glob("*.npz"))
    if stored + dataset.train_images.nbytes + dataset.test_images.nbytes > DATASETS_BYTES:
        raise DatasetError("The server has no room for another dataset: try again later.")
    note = UploadedNote(
        name=name,
        title=title,
        image_size=dataset.picture_shape[0],
        classes=dataset.classes,
        train_counts=_counts(dataset.labels_of("train"), len(dataset.classes)),
        test_counts=_counts(dataset.labels_of("test"), len(dataset.classes)),
        left_out=len(images.skipped),
        reasons=tuple(f"{skipped.name}: {skipped.reason}" for skipped in images.skipped[:MOST_NAMED]),
        owner=owner,
    )
    arrays, note_file = _files(name, runs_folder)
    try:
        write_dataset(dataset, arrays)
        note_file.write_text(json.dumps(asdict(note)))
    except OSError as error:
        for path in (arrays, note_file):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        raise DatasetError(f"The images could not be stored ({reason(error)}).") from error
    return note


def _counts(labels: Labels, classes: int) -> tuple[int, ...]:
    return tuple(np.bincount(labels, minlength=classes).tolist())


def read_note(name: str, runs_folder: Path) -> UploadedNote | None:
    """Return the note of an uploaded dataset; None if it does not exist or has expired."""
    if not is_uploaded(name):
        return None
    arrays, note_file = _files(name, runs_folder)
    try:
        values = json.loads(note_file.read_bytes())
        made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return UploadedNote(**made) if arrays.is_file() else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def load_uploaded(name: str, runs_folder: Path | None) -> Dataset:
    """Return an uploaded dataset by name.

    Raises:
        DatasetError: if it does not exist or has expired.
    """
    expired = DatasetError("These images have expired on the server: upload them again.")
    if runs_folder is None or not is_uploaded(name):
        raise expired
    arrays, _ = _files(name, runs_folder)
    try:
        return _read(name, arrays, arrays.stat().st_mtime_ns)
    except (OSError, DatasetError) as error:
        raise expired from error


@lru_cache(maxsize=2)
def _read(name: str, path: Path, modified_ns: int) -> Dataset:
    return read_dataset(name, path)


def touch(name: str, runs_folder: Path) -> None:
    """Record that a dataset is in use."""
    if is_uploaded(name):
        _, note_file = _files(name, runs_folder)
        with suppress(OSError):  # a deleted or read-only dataset is still readable
            os.utime(note_file)


def remove(name: str, runs_folder: Path) -> None:
    """Delete a dataset; a run that trains on it has it in memory and continues.

    Raises:
        OSError: if its folder cannot be written.
    """
    if is_uploaded(name):
        for path in _files(name, runs_folder):
            path.unlink(missing_ok=True)
        _read.cache_clear()


def sweep(runs_folder: Path) -> None:
    """Delete datasets unused for `KEEP_S` and leftovers of interrupted writes.

    Does nothing for `SETTLE_S` after the clock was set or the machine slept; future times count as now.

    Raises:
        OSError: if the folder cannot be written.
    """
    if not _clock.even_for(SETTLE_S, time.time()):
        return
    for arrays in (runs_folder / _SETS).glob("*.npz"):
        note_file = arrays.with_suffix(".json")
        age = min(_size_and_age(path)[1] for path in (arrays, note_file))
        if age > KEEP_S:
            remove(f"{PREFIX}{arrays.stem}", runs_folder)
            arrays.unlink(missing_ok=True)
        elif age < -60:  # would be kept until then
            for path in (arrays, note_file):
                with suppress(OSError):
                    os.utime(path)


def _size_and_age(path: Path) -> tuple[int, float]:
    """Return (bytes, seconds since it was written) of a file ; (0, infinity) if another session has just deleted it."""
    try:
        stat = path.stat()
    except OSError:
        return 0, inf
    return stat.st_size, time.time() - stat.st_mtime


def _files(name: str, runs_folder: Path) -> tuple[Path, Path]:
    """Return the paths of (arrays, note); the name has been checked."""
    stem = runs_folder / _SETS / name.removeprefix(PREFIX)
    return stem.with_suffix(".npz"), stem.with_suffix(".json")
