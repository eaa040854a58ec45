"""Clocks that a test sets: the wall's, and the one that only counts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vitviz.data import uploaded_datasets
from vitviz.heartbeat import Clock, Heartbeats
from vitviz.training import retention, run_directory, run_lock

HOUR_S = 3600.0


@dataclass
class Clocks:
    """By how much the clocks are ahead of the real ones."""

    jumped: float = 0.0  # the wall's alone: somebody set it, or the machine slept
    passed: float = 0.0  # both


@contextmanager
def set_clocks(patch: pytest.MonkeyPatch) -> Iterator[Clocks]:
    """Clocks that run on and can be set; files are written by them, and nobody has noticed a jump yet."""
    clocks = Clocks()
    wall, counter, utime = time.time, time.monotonic, os.utime

    def stamped(path: Any, times: Any = None, **more: Any) -> None:
        utime(path, times or (time.time(),) * 2, **more)

    with patch.context() as patched:
        patched.setattr(time, "time", lambda: wall() + clocks.jumped + clocks.passed)
        patched.setattr(time, "monotonic", lambda: counter() + clocks.passed)
        patched.setattr(os, "utime", stamped)
        patched.setattr(run_lock, "_read_file_time", lambda folder: time.time())
        patched.setattr(run_directory, "_heartbeats", Heartbeats(run_directory.HEARTBEAT_LIMIT_S))
        patched.setattr(run_lock, "_holders", Heartbeats(run_lock.STALE_S))
        patched.setattr(retention, "_clock", Clock(60.0))
        patched.setattr(uploaded_datasets, "_clock", Clock(60.0))
        yield clocks


def written_now(*paths: Path) -> None:
    """These files were written just now, by the clock that is set."""
    for path in paths:
        os.utime(path)
