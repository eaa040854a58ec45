"""Write each record of every logger as one short line, and limit how often a session or a place in the code writes one.

A security guard: a browser that sends odd values for widgets made Streamlit write a traceback of 2 KB for each message,
and the id of a fragment, of up to a megabyte, was a line. A developer's terminal still shows whole tracebacks.
"""

import logging
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from weakref import WeakKeyDictionary

from pages.streamlit_fixes.installation import FunctionReplacement, apply
from pages.streamlit_fixes.required.rerun_fairness import ACCOUNT, Account
from pages.streamlit_fixes.required.websocket_limits import TokenBucket

BURST, PER_MINUTE = 10, 10  # lines of a session, and lines from the same place
MAX_CHARACTERS = 400  # with the time, level and name before them, a line has at most 500
MAX_LINES = 200  # of a traceback on a terminal
_ROOT = Path(__file__).parents[3]
_Place = tuple[str, int, str]
_handle = logging.Logger.handle
_logger = logging.getLogger(__name__)
_lock = threading.Lock()
_buckets: dict[_Place, TokenBucket] = {}  # as many as there are places in the code
_session_buckets: WeakKeyDictionary[Account, TokenBucket] = WeakKeyDictionary()  # by the session's connection
_dropped: Counter[_Place] = Counter()


def install() -> None:
    """Replace the function that hands a record to the handlers of a logger; repeated calls do nothing.

    Python's warnings and the exceptions of threads become records, too.
    """
    apply(FunctionReplacement(logging.Logger, "handle", "self record", _handle_limited))
    logging.captureWarnings(True)
    threading.excepthook = _log_thread_exception


def _log_thread_exception(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is not SystemExit and args.exc_value is not None:
        name = args.thread.name if args.thread else "a thread"
        _logger.error("%s ended", name, exc_info=args.exc_value)


def _handle_limited(logger: logging.Logger, record: logging.LogRecord) -> None:
    error = record.exc_info[1] if record.exc_info else None
    frames = [] if error is None else list(traceback.walk_tb(error.__traceback__))
    places = [f"{Path(frame.f_code.co_filename).name}:{line}" for frame, line in frames[-1:]]
    places += [
        f"{path.relative_to(_ROOT)}:{line}"
        for frame, line in reversed(frames)
        if (path := Path(frame.f_code.co_filename)).is_relative_to(_ROOT)
    ][:1]
    place = (record.pathname, record.lineno, f"{type(error).__name__} {places}")
    with _lock:
        if not _take_line(place):
            _dropped[place] += 1
            return
        dropped = _dropped.pop(place, 0)
    try:
        text = record.getMessage()
    except Exception:  # arguments that do not fit
        text = str(record.msg)
    if error is not None and sys.stderr.isatty():
        record.exc_text = "\n".join(
            _escape(line) for line in "".join(traceback.format_exception(error)).splitlines()[:MAX_LINES]
        )
    else:
        if error is not None:
            text += f": {type(error).__name__} ({', from '.join(places)}): {error}"
        record.exc_info = record.exc_text = None
    more = f" [{dropped} more like this]" if dropped else ""
    record.msg, record.args = _escape(text, MAX_CHARACTERS - len(more)) + more, ()
    record.stack_info = None
    _handle(logger, record)


def _take_line(place: _Place) -> bool:
    """Return True if the place and the session that the server works for may write a line."""
    now_s, account = time.monotonic(), ACCOUNT.get()
    buckets = [] if account is None else [_session_buckets.setdefault(account, _create_bucket())]
    buckets.append(_buckets.setdefault(place, _create_bucket()))
    return all(bucket.take(1, now_s) for bucket in buckets)


def _create_bucket() -> TokenBucket:
    return TokenBucket(PER_MINUTE / 60, BURST)


def _escape(text: str, length: int = MAX_CHARACTERS) -> str:
    """Return the text on one line of at most `length` characters, without those that a terminal would act on."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text[:length]
    )[:length]
