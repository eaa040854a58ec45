"""How the tests run: two or more processes side by side, the longest files first, and one line a file."""

from __future__ import annotations

import os

# Before torch or NumPy are imported, for this process and for every server and trainer that it starts: workers that run
# side by side share the cores, and a second thread each would only wait for the other worker's.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import hypothesis
import pytest

from tests.progress import Progress, file_of

MOST_WORKERS = 4  # each may have a server and a browser of its own
# Longest first, so that no worker is left alone with one in the end; benchmarks/test_time.md measures them.
FIRST = (
    "tests/browser/test_live_lab.py",
    "tests/browser/test_lab_curves.py",
    "tests/browser/test_race.py",
    "tests/unit/test_training_executor.py",
    "tests/unit/test_training_dask.py",
    "tests/unit/test_training_experiment.py",
    "tests/unit/test_config.py",
)

# A machine that does much else is slow, not wrong.
hypothesis.settings.register_profile(
    "vitviz", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("vitviz")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and config.option.verbose <= 0:
        config.pluginmanager.register(Progress(config), "vitviz-progress")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are cores, but no more than files asked for; one file runs in this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(max(cores, 2), MOST_WORKERS)
    files = {file_of(argument) for argument in config.args}
    if all(file.endswith(".py") for file in files):
        workers = min(workers, len(files))
    return workers if workers > 1 else 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first; tests marked slow stay out unless --slow is given or one is named by its id."""
    rank = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(file_of(item.nodeid), len(FIRST)))
    if config.option.slow or any("::" in argument for argument in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
