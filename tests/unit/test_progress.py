"""The lines that say what is being tested."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.progress import Progress


class Terminal:
    """Keeps the lines that it is given."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def ensure_newline(self) -> None: ...

    def flush(self) -> None: ...

    def write_line(self, line: str) -> None:
        self.lines.append(line.strip())


def report(nodeid: str, when: str, outcome: str = "passed", seconds: float = 1.0) -> pytest.TestReport:
    return pytest.TestReport(nodeid, (nodeid, 0, ""), {}, outcome, None, when, duration=seconds)  # type: ignore[arg-type]


def test_a_file_is_reported_when_its_last_test_ends_and_a_failure_at_once() -> None:
    terminal = Terminal()
    plugins = SimpleNamespace(get_plugin=lambda name: terminal)
    progress = Progress(SimpleNamespace(pluginmanager=plugins))  # type: ignore[arg-type]
    ids = ["a.py::one", "b.py::one", "a.py::two", "a.py::three"]
    progress.pytest_xdist_node_collection_finished(None, ids)
    progress.pytest_xdist_node_collection_finished(None, ids)  # every worker tells the same list
    for when in ("setup", "call", "teardown"):
        progress.pytest_runtest_logreport(report("a.py::one", when, seconds=6.0 if when == "call" else 0.5))
    progress.pytest_runtest_logreport(report("b.py::one", "setup", "failed"))
    progress.pytest_runtest_logreport(report("a.py::two", "setup", "skipped", 0.0))
    progress.pytest_runtest_logreport(report("a.py::two", "teardown", seconds=0.0))
    assert [line.partition("  ")[2] for line in terminal.lines] == [
        "4 tests in 2 files",
        "FAILED b.py::one (setup)",
    ]
    progress.pytest_runtest_logreport(report("b.py::one", "teardown", seconds=0.0))
    for when in ("setup", "call", "teardown"):
        progress.pytest_runtest_logreport(
            report("a.py::three", when, "failed" if when == "call" else "passed")
        )
    assert [line.partition("  ")[2].strip() for line in terminal.lines[2:]] == [
        "75%  b.py: 1 failed in 1.0 s",
        "FAILED a.py::three (call)",
        "100%  a.py: 1 failed, 1 passed, 1 skipped in 10.0 s, slowest 6.0 s: one",
    ]
