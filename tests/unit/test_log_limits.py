"""Records in the log: one line each, and few of one kind or session."""

from __future__ import annotations

import contextvars
import io
import logging
import threading
from collections.abc import Iterator

import pytest

from pages.streamlit_fixes.required import log_limits
from pages.streamlit_fixes.required.rerun_fairness import ACCOUNT, Account


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """Return a logger with the guard, and what it has written."""
    monkeypatch.setattr(logging.Logger, "handle", log_limits._handle_limited)
    monkeypatch.setattr(log_limits, "_buckets", {})
    monkeypatch.setattr(log_limits, "_dropped", type(log_limits._dropped)())
    logger, written = logging.getLogger("a logger of its own"), io.StringIO()
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler := logging.StreamHandler(written))
    yield logger, written
    logger.removeHandler(handler)


def fail(text: str) -> None:
    raise ValueError(text)


def log_failure(logger: logging.Logger, text: str, said: str = "failed") -> None:
    try:
        fail(text)
    except ValueError:
        logger.exception(said)


def test_an_error_is_one_line_that_names_its_place(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    text = "bad value '\x1b[2J\n2026-11-24 all is well\u2028'" + "y" * 5000
    log_failure(logger, text, "Uncaught app execution")
    (line,) = written.getvalue().splitlines()
    assert line.startswith("Uncaught app execution: ValueError (test_log_limits.py:")
    assert "): bad value '\\x1b[2J\\n2026" in line
    assert len(line) == log_limits.MAX_CHARACTERS


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.CRITICAL])
def test_a_user_s_text_is_one_short_line_at_every_level(
    log: tuple[logging.Logger, io.StringIO], level: int
) -> None:
    """The id of a fragment, as a browser sent it, was a line of 500 kB."""
    logger, written = log
    logger.log(level, "The fragment with id %s does not exist", "\x1b[2J\n\U000e0001" + "\0" * 500_000)
    (line,) = written.getvalue().splitlines()
    assert line.startswith("The fragment with id \\x1b[2J\\n\\U000e0001\\x00") and line.isprintable()
    assert len(line) == log_limits.MAX_CHARACTERS


def test_a_terminal_shows_the_traceback_without_a_user_s_control_characters(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, written = log
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    log_failure(logger, "\x1b[2J" + "y" * 100_000)
    text = written.getvalue()
    assert "test_log_limits.py" in text and "\x1b" not in text
    assert len(text) < 10_000


def test_arguments_that_do_not_fit_are_no_error(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    logger.info("%d of %d", "three")
    assert written.getvalue() == "%d of %d\n"


def test_the_exception_of_a_thread_is_one_line(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, written = log
    monkeypatch.setattr(log_limits, "_logger", logger)
    monkeypatch.setattr(threading, "excepthook", log_limits._log_thread_exception)
    thread = threading.Thread(target=fail, args=["\x1b[2J\nall is well"], name="worker")
    thread.start()
    thread.join()
    (line,) = written.getvalue().splitlines()
    assert line.startswith("worker ended: ValueError") and line.endswith("\\x1b[2J\\nall is well")


def test_the_same_error_is_written_ten_times_a_minute(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, written = log
    at = [0.0]
    monkeypatch.setattr("pages.streamlit_fixes.required.log_limits.time.monotonic", lambda: at[0])

    def write(count: int, text: str) -> None:
        for number in range(count):
            log_failure(logger, f"{text} {number}")

    write(500, "hostile")
    assert len(written.getvalue().splitlines()) == log_limits.BURST
    at[0] = 6.0
    write(1, "hostile")
    line = written.getvalue().splitlines()[-1]
    assert "): hostile 0" in line and line.endswith("[490 more like this]")
    logger.warning("another place in the code")
    assert written.getvalue().endswith("another place in the code\n")
    for _ in range(100):
        logger.info("no error")
    assert written.getvalue().count("no error") == log_limits.BURST


def test_a_session_writes_ten_lines_a_minute_from_all_places(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, written = log
    monkeypatch.setattr("pages.streamlit_fixes.required.log_limits.time.monotonic", lambda: 0.0)

    def write_from_three_places() -> None:
        for _ in range(6):
            logger.info("first")
            logger.info("second")
            logger.warning("third")

    for user in ("one", "another"):
        context = contextvars.copy_context()
        context.run(ACCOUNT.set, Account(user))
        context.run(write_from_three_places)
    lines = written.getvalue().splitlines()
    assert len(lines) == 2 * log_limits.BURST
    assert set(lines[: log_limits.BURST]) == {"first", "second", "third"}
