"""Errors in the log: one line each, and few of the same kind."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from pages.frame import log_limits


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """Return a logger with the guard, and what it has written."""
    monkeypatch.setattr(logging.Logger, "handle", log_limits._handle_limited)
    monkeypatch.setattr(log_limits, "_buckets", {})
    monkeypatch.setattr(log_limits, "_dropped", type(log_limits._dropped)())
    logger, written = logging.getLogger("a logger of its own"), io.StringIO()
    logger.propagate = False
    logger.addHandler(handler := logging.StreamHandler(written))
    yield logger, written
    logger.removeHandler(handler)


def fail(text: str) -> None:
    raise ValueError(text)


def test_an_error_is_one_line_that_names_its_place(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    try:
        fail("bad value '\x1b[2J\n2026-11-24 all is well\u2028'" + "y" * 5000)
    except ValueError:
        logger.exception("Uncaught app execution")
    (line,) = written.getvalue().splitlines()
    assert line.startswith("Uncaught app execution: ValueError (test_log_limits.py:")
    assert "): bad value '\\x1b[2J\\n2026" in line
    assert len(line) <= log_limits.MAX_CHARACTERS + 20


def test_the_same_error_is_written_ten_times_a_minute(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, written = log
    at = [0.0]
    monkeypatch.setattr("pages.frame.log_limits.time.monotonic", lambda: at[0])

    def write(count: int, text: str) -> None:
        for number in range(count):
            try:
                fail(f"{text} {number}")
            except ValueError:
                logger.exception("failed")

    write(500, "hostile")
    assert len(written.getvalue().splitlines()) == log_limits.BURST
    at[0] = 6.0
    write(1, "hostile")
    line = written.getvalue().splitlines()[-1]
    assert "): hostile 0" in line and line.endswith("[490 more like this]")
    logger.warning("another place in the code")
    assert written.getvalue().endswith("another place in the code\n")
    for _ in range(100):
        logger.info("not a warning")
