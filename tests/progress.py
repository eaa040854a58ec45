"""What the terminal says while the tests run: a line for every file that is done, with one process or with several."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

import pytest

LONG_S = 5.0  # a test that takes longer is named beside its file


def file_of(nodeid: str) -> str:
    """The file of a test's id."""
    return nodeid.partition("::")[0]


class Progress:
    """Counts reports by file and prints a line when a file's last test has ended; failures are named at once."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.begun = time.monotonic()
        self.left: Counter[str] = Counter()
        self.total = 0
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.longest: dict[str, tuple[float, str]] = {}

    def expect(self, nodeids: list[str]) -> None:
        """These tests will run; a second worker that tells the same list adds nothing."""
        if not self.total:
            self.left.update(map(file_of, nodeids))
            self.total = len(nodeids)
            self.say(f"{self.total:,} tests in {len(self.left)} files")

    def say(self, text: str) -> None:
        """One line, after the minutes and seconds since the start."""
        minutes, seconds = divmod(int(time.monotonic() - self.begun), 60)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        terminal.ensure_newline()
        terminal.write_line(f"{minutes:3d}:{seconds:02d}  {text}")
        terminal.flush()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # with workers it is they who collect
            self.expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        self.expect(list(ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No dots: a passed test has no letter of its own; pytest names the others in its summary."""
        if report.outcome == "rerun":
            return "rerun", "", "AGAIN"
        if report.failed:
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        if report.skipped:
            return ("xfailed" if hasattr(report, "wasxfail") else "skipped"), "", ""
        return ("passed", "", "") if report.when == "call" else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = file_of(report.nodeid)
        self.seconds[file] += report.duration
        self.longest[file] = max(self.longest.get(file, (0.0, "")), (report.duration, report.nodeid))
        if report.failed:
            self.say(f"FAILED {report.nodeid} ({report.when})")
        if report.outcome == "rerun":
            self.say(f"AGAIN {report.nodeid} ({report.when})\n{report.longreprtext}")
            for title, text in report.sections:
                self.say(f"{title}: {text}")
        if report.when == "call" or not report.passed:
            self.outcomes[file][report.outcome] += 1
        if report.when == "teardown":
            self.left[file] -= 1
            if self.left[file] == 0:
                self.say(self.line(file))

    def line(self, file: str) -> str:
        """'42 %  FILE: 12 passed in 3.4 s, slowest 5.1 s: NAME'."""
        done = 1 - sum(self.left.values()) / self.total
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes[file].items()))
        seconds, nodeid = self.longest[file]
        slowest = f", slowest {seconds:.1f} s: {nodeid.partition('::')[2]}" if seconds > LONG_S else ""
        return f"{done:4.0%}  {file}: {counts} in {self.seconds[file]:.1f} s{slowest}"
