"""Runs that nobody has looked at for long are removed, and the oldest where the folder is full.

An operator sets both: $VITVIZ_RUNS_DAYS (default 14), how long a run stays after it was last watched or trained, and
$VITVIZ_RUNS_GB (default 20), how large all runs may be together. Several servers may sweep one folder at once: a run
is renamed before it is removed, and only one of them can do that.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from vitviz.heartbeat import Clock
from vitviz.training.run_directory import DRAFT, DELETED, Run, RunError, Status, list_runs

WATCHED_S = 600.0  # a page that shows a run says so every few seconds, one in a hidden tab every minute
QUEUED_S = 24 * 3600.0  # a run that has waited so long waits for a server that is gone
LEFT_S = 3600.0  # what a creation or a removal that was cut off has left
AHEAD_S = 3600.0  # a time that lies further in the future was written while the clock was wrong
_clock = Clock(60.0)


@dataclass(frozen=True)
class Limits:
    """Limits of the age and total size of stored runs."""

    age_s: float = 14 * 86_400.0
    stored_bytes: float = 20e9

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """Return what the operator has set.

        Raises:
            ValueError: if a setting is no positive number.
        """
        days, gigabytes = (
            _positive(environment, name, default)
            for name, default in (("VITVIZ_RUNS_DAYS", 14.0), ("VITVIZ_RUNS_GB", 20.0))
        )
        return cls(days * 86_400.0, gigabytes * 1e9)


@dataclass(frozen=True)
class Stored:
    """The facts that decide whether a run is kept."""

    id: str
    stored_bytes: int
    used: float  # when it was last watched, trained or made, in seconds since 1970
    under_way: bool


def survey(root: str | Path, now: float) -> list[Stored]:
    """Return all runs of a folder; those that vanish meanwhile are left out."""
    found = []
    for run in list_runs(root):
        with suppress(RunError, OSError):
            found.append(_stored(run, now))
    return found


def plan(runs: Iterable[Stored], limits: Limits, now: float) -> list[str]:
    """Return the ids of the runs to remove, the longest unused first: all that are too old, then until the rest fits.

    Never one that is under way or was watched within the last `WATCHED_S`, whatever the folder holds then.
    """
    runs = list(runs)
    left = sum(run.stored_bytes for run in runs)
    removed = []
    for run in sorted(runs, key=lambda run: run.used):
        idle = now - run.used
        if run.under_way or idle < WATCHED_S:
            continue
        if idle > limits.age_s or left > limits.stored_bytes:
            removed.append(run.id)
            left -= run.stored_bytes
    return removed


def remove(root: str | Path, ids: Iterable[str], now: float) -> list[str]:
    """Remove these runs; returns those that this call removed: one that has been taken up meanwhile stays."""
    removed = []
    for run_id in ids:
        place, aside = Path(root) / run_id, Path(root) / f"{DELETED}{run_id}"
        try:
            if _stored(Run(place), now).under_way:
                continue
            os.utime(
                place, (now, now)
            )  # or a sweep of another server takes what is set aside for left behind
            place.rename(aside)  # another server's rename of it fails now
            if _stored(Run(aside), now).under_way:  # taken up between the look and the rename
                aside.rename(place)
                continue
        except (RunError, OSError):
            continue
        shutil.rmtree(aside, ignore_errors=True)
        removed.append(run_id)
    return removed


def sweep(root: str | Path, limits: Limits | None = None, now: float | None = None) -> list[str]:
    """Survey, plan and remove, and clear away what was cut off; ids of what is gone.

    Args:
        now: in seconds since 1970; None: this machine's clock, which removes nothing for `WATCHED_S` after it was
            set or the machine slept: who watches a run says so first.
    """
    if now is None:
        now = time.time()
        if not _clock.even_for(WATCHED_S, now):
            return []
    removed = remove(root, plan(survey(root, now), limits or Limits.from_environment(), now), now)
    for left in (path for start in (DRAFT, DELETED) for path in Path(root).glob(f"{start}*")):
        with suppress(OSError):
            if now - left.stat().st_mtime > LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
    return removed


def _stored(run: Run, now: float) -> Stored:
    status = run.status()
    times = [status.heartbeat, (run.directory / "config.json").stat().st_mtime]
    for name in ("lease.json", "seen.json"):
        with suppress(OSError):
            times.append((run.directory / name).stat().st_mtime)
    latest = max(times)
    # Of a clock that was wrong: not old, so it stays its time; and not in use, or a full folder would keep it for ever.
    used = min(now, latest) if latest <= now + AHEAD_S else now - WATCHED_S - 1
    size = sum(path.stat().st_size for path in run.directory.rglob("*") if path.is_file())
    return Stored(run.id, size, used, _under_way(status, now - used))


def _under_way(status: Status, idle_s: float) -> bool:
    return status.active and (status.state != "queued" or idle_s < QUEUED_S)


def _positive(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = float("nan")
    if not (isfinite(value) and value > 0):
        raise ValueError(f"${name} must be a positive number, received {text[:80]!r}")
    return value
