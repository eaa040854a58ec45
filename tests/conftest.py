"""Set up how the tests run: several processes side by side, and one line a file."""

from __future__ import annotations

import gc
import os
import sys
import tempfile

# Before torch or NumPy are imported, for this process and for every server and trainer that it starts: they share the
# cores, with a browser and with other workers, and threads that are not all on a core at once wait for one another.
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
os.environ["OPENBLAS_NUM_THREADS"] = os.environ.get("OPENBLAS_NUM_THREADS", "1")
os.environ["MKL_NUM_THREADS"] = os.environ.get("MKL_NUM_THREADS", "1")
# Published weights that the machine's user downloaded are no part of a test.
os.environ["HF_HOME"] = os.path.join(tempfile.gettempdir(), "vitviz-tests-have-no-weights")
os.environ["VITVIZ_WEIGHTS"] = os.environ["HF_HOME"]
os.environ["VITVIZ_AHEAD"] = "0"  # a test's server would open every page beside the test

# What is compiled is kept, as a server keeps it, whatever the environment says: each worker would compile all tests
# anew, 8 s of processor time, and each of their processes the project.
os.environ["PYTHONDONTWRITEBYTECODE"] = ""

from collections.abc import Generator

import hypothesis
import pytest

from tests.progress import Progress, file_of

sys.dont_write_bytecode = False

MAIN = sys.modules["__main__"]
MOST_WORKERS = 4  # each may have a server and a browser of its own
# A machine that does much else is slow, not wrong.
hypothesis.settings.register_profile(
    "vitviz", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("vitviz")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store-pictures", action="store_true", help="write what old links open anew")
    parser.addoption("--update-text", action="store_true", help="write tests/pages/text anew")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")
    parser.addoption(
        "--again", action="store_true", help="a test that fails has a second try, and it is said"
    )


@pytest.fixture(autouse=True)
def _main_is_pytests() -> None:
    """Take back the `__main__` that an AppTest leaves behind: a process spawned later would run its script."""
    sys.modules["__main__"] = MAIN


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and config.option.verbose <= 0:
        config.pluginmanager.register(Progress(config), "vitviz-progress")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are cores, but no more than files asked for; one file runs in this process.

    Half of a worker's time is waiting for a browser, a server or a trainer: others keep the cores busy meanwhile.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores + 2, MOST_WORKERS)
    files = {file_of(argument) for argument in config.args}
    if all(file.endswith(".py") for file in files):
        workers = min(workers, len(files))
    return workers if workers > 1 else 0


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Leave what is collected, libraries and tests, out of every later collection of garbage."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked slow or alone, unless --slow or --update-text is given or tests are named by id or -k."""
    option = config.option
    if option.again:
        for item in items:
            item.add_marker(pytest.mark.flaky(reruns=1))
    if option.slow or option.update_text or option.keyword or any("::" in name for name in config.args):
        return
    left_out = {item for item in items if any(map(item.get_closest_marker, ("slow", "alone")))}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])
