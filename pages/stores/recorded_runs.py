"""Find the recorded run that the app was opened on, and read its moments as they are written."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pages.stores.session import UserSession
    from vitviz.recorded_run import Moment, RecordedRun

VARIABLE = "VITVIZ_RECORDED"  # the folder, set by `vitviz app FOLDER`


def find_recorded_run() -> RecordedRun | None:
    """Return the recorded run that the app was opened on.

    Raises:
        vitviz.recorded_run.RecordedRunError: if its folder is damaged or of a newer version.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    from vitviz.recorded_run import RecordedRun

    return RecordedRun(folder)


def is_opened() -> bool:
    """Return True if the app was opened on a recorded run, whether or not it can be read."""
    return bool(os.environ.get(VARIABLE))


def is_shown(slug: str, user: UserSession) -> bool:
    """Return True if a page shows the recorded run, and so neither the selected model nor the selected image."""
    return slug == "live_lab" and is_opened() and not user.runs


def read_moment(run: RecordedRun, step: int) -> Moment:
    """Return what a recorded run holds of a step.

    Raises:
        vitviz.recorded_run.RecordedRunError: if the file cannot be read.
    """
    return _read_moment(run.directory, step, run.config.created)


@lru_cache(maxsize=256)
def _read_moment(directory: Path, step: int, created: float) -> Moment:
    from vitviz.recorded_run import RecordedRun

    return RecordedRun(directory).moment(step)
