"""Find recorded runs: the folder that the app was opened on, and a user's uploads, in temporary folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pages.stores import uploads
from pages.stores.model_choice import ModelChoice
from vitviz.text import plural
from vitviz.upload_limits import RECORDED_BYTES, RECORDED_PER_USER

if TYPE_CHECKING:
    from pages.stores.session import UserSession
    from vitviz.models.formats.uploaded_weights import TemporaryFolder
    from vitviz.recorded_run import Moment, RecordedRun

VARIABLE = "VITVIZ_RECORDED"  # the folder, set by `vitviz app FOLDER`
KEY = "recorded:"
OPENED = f"{KEY}opened"  # key of the run that the app was opened on
NO_WEIGHTS = "This recorded run stores no weights, as vitviz.record(…, weights=True) does."
MOST_MOMENTS = 256  # in memory
_TABLES = {"pos_embed": "positions", "patch_embed.proj.weight": "embedding"}  # of a moment, by parameter


@dataclass(frozen=True, eq=False)
class UploadedRun:
    """An uploaded run, its size, and the folder that is deleted with it."""

    run: RecordedRun
    nbytes: int
    folder: TemporaryFolder


STORE: uploads.Store[UploadedRun] = uploads.Store(per_user=RECORDED_PER_USER, total_bytes=RECORDED_BYTES)
uploads.STORES.append(STORE)


def store_upload(user: UserSession, zip_bytes: bytes) -> str:
    """Unpack and store the zip of a recorded run's folder; return its key.

    Raises:
        vitviz.recorded_run.RecordedRunError: if it is damaged or too large, or the server has no room for it.
        OSError: if it cannot be written.
    """
    from vitviz.data.image_worker import decode_for
    from vitviz.models.formats.uploaded_weights import TemporaryFolder
    from vitviz.recorded_run import RecordedRunError
    from vitviz.recorded_run_archive import unpack_recorded_run

    folder = TemporaryFolder()
    with decode_for(user.token):
        run = unpack_recorded_run(zip_bytes, folder.path)
    size = sum(file.stat().st_size for file in folder.path.rglob("*") if file.is_file())
    try:
        name = STORE.add(UploadedRun(run, 2 * size, folder), user.token)  # its moments in memory are as large
    except uploads.StoreFull as error:
        raise RecordedRunError(str(error).removesuffix(".")) from error
    user.update("recorded", [name])
    return f"{KEY}{name}"


def adopt_run(user: UserSession, key: str) -> bool:
    """Add an uploaded run whose unguessable id a link contains to the user's session."""
    name = key.removeprefix(KEY)
    if key != OPENED and name not in user.recorded and STORE.get(name) is not None:
        user.update("recorded", [name])
    return key in list_keys(user)


def is_opened() -> bool:
    """Return True if the app was opened on a recorded run."""
    return bool(os.environ.get(VARIABLE))


def list_keys(user: UserSession) -> list[str]:
    """Return the keys of the user's uploads, newest first, and of the run that the app was opened on."""
    user.update("recorded", remove=[name for name in user.recorded if STORE.get(name) is None])
    return [f"{KEY}{name}" for name in user.recorded] + [OPENED] * is_opened()


def find_run(key: str) -> RecordedRun:
    """Return a recorded run.

    Raises:
        vitviz.recorded_run.RecordedRunError: if it has expired, or its folder is damaged or of a newer version.
    """
    from vitviz.recorded_run import RecordedRun, RecordedRunError

    if key == OPENED:
        return RecordedRun(os.environ[VARIABLE])
    if (entry := STORE.get(key.removeprefix(KEY))) is None:
        raise RecordedRunError("this recorded run has expired: upload it again")
    return entry.run


def find_shown(user: UserSession, linked: str) -> str:
    """Return the key of the recorded run that the lab shows; '' if it shows another run.

    Args:
        linked: the run that the lab's control names; '' for its default.
    """
    keys = list_keys(user)
    if linked in keys:
        return linked
    return "" if user.runs else next(iter(keys), "")


def read_moment(key: str, step: int) -> Moment:
    """Return what a recorded run holds of a step.

    Raises:
        vitviz.recorded_run.RecordedRunError: if the file cannot be read.
    """
    run = find_run(key)
    if key == OPENED:
        return _read_moment(run.directory, step, run.config.created)
    name = key.removeprefix(KEY)
    return STORE.computed(name, ("moments", step), MOST_MOMENTS, lambda: run.moment(step))


@lru_cache(maxsize=MOST_MOMENTS)
def _read_moment(directory: Path, step: int, created: float) -> Moment:
    from vitviz.recorded_run import RecordedRun

    return RecordedRun(directory).moment(step)


# ---------------------------------------------------------------- recorded runs as models


def is_recorded(choice: ModelChoice) -> bool:
    return choice.key.startswith(KEY)


def lacks_weights(choice: ModelChoice) -> bool:
    """Return True for a recorded run without weights: only its tables can be shown."""
    return is_recorded(choice) and choice.path is None


def list_choices(user: UserSession) -> tuple[ModelChoice, ...]:
    """Return the recorded runs that have a moment, as selectable models."""
    choices = (_build_choice(key) for key in list_keys(user))
    return tuple(choice for choice in choices if choice is not None)


def _build_choice(key: str) -> ModelChoice | None:
    from vitviz.models.formats.format_detection import UNSAID
    from vitviz.recorded_run import RecordedRunError

    try:
        run = find_run(key)
    except RecordedRunError:
        return None
    steps = _list_readable(key, run)
    if not steps:
        return None
    stored = [step for step in steps if run.weights_path(step).is_file()]
    path = find_weights(key, stored[-1]) if stored else None
    steps = steps if path is None else stored
    weights = "no weights" if path is None else "their weights"
    return ModelChoice(
        key=key,
        title=run.config.name,
        note=f"Recorded in your own loop: {plural(len(steps), 'moment')}, {weights}.",
        config=run.config.model,
        preparation=run.config.preparation,
        trained_on=UNSAID,
        steps=tuple(steps),
        path=path,
    )


def _list_readable(key: str, run: RecordedRun) -> list[int]:
    """Return the steps whose moments can be read: a copied folder may hold parts of files."""
    from vitviz.recorded_run import RecordedRunError

    steps = []
    for step in run.steps():
        try:
            read_moment(key, step)
        except RecordedRunError:
            continue
        steps.append(step)
    return steps


def find_weights(key: str, step: int) -> Path | None:
    """Return the file with a step's weights; None if there is none of the run's own model."""
    from vitviz.checkpoint_header import CheckpointError
    from vitviz.recorded_run import RecordedRunError

    try:
        run = find_run(key)
        path = run.weights_path(step)
        fits = _read_model(path, path.stat().st_mtime_ns) == (run.config.model, run.config.preparation, step)
    except (RecordedRunError, CheckpointError, OSError):
        return None
    return path if fits else None


@lru_cache(maxsize=256)
def _read_model(path: Path, modified_ns: int) -> tuple[object, object, int]:
    from vitviz.checkpoint_header import read_header

    header = read_header(path)
    return header.config, header.preparation, header.steps[-1]


def read_table(choice: ModelChoice, step: int, name: str) -> np.ndarray | None:
    """Return a parameter that a moment stores; None for others.

    Positions are those of the patches alone.
    """
    from vitviz.recorded_run import RecordedRunError

    if name not in _TABLES:
        return None
    try:
        table: np.ndarray | None = getattr(read_moment(choice.key, step), _TABLES[name])
    except RecordedRunError:
        return None
    return table
