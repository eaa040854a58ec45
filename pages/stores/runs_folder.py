"""Find the runs' folder and the runs of an owner in it."""

import math
import os
from functools import lru_cache
from pathlib import Path


def get_folder() -> Path:
    """Return the runs' folder: $VITVIZ_RUNS, or the platform's cache folder."""
    return _get_folder(os.environ.get("VITVIZ_RUNS", "").strip())


@lru_cache(maxsize=8)
def _get_folder(path: str) -> Path:
    from platformdirs import user_cache_path

    return Path(path).expanduser() if path else user_cache_path("vitviz") / "runs"


def find_runs_of(owner: str, before_s: float = math.inf) -> list[str]:
    """Return ids of the runs on disk that an owner made before a time, newest first."""
    from vitviz.training.run_directory import Run, RunError

    made = []
    for directory in get_folder().iterdir() if get_folder().is_dir() else ():
        if not (directory / "config.json").is_file():
            continue
        try:
            run = Run.find(get_folder(), directory.name)
            config = run.config()
        except RunError:  # damaged, or not a run
            continue
        if config.owner == owner and config.created < before_s:
            made.append((config.created, run.id))
    return [run_id for _, run_id in sorted(made, reverse=True)]
