"""Write each warning and error as one line, and limit how often the same place in the code writes one.

A security guard: a browser that sends odd values for widgets made Streamlit write a traceback of 2 KB for each message.
A developer's terminal still shows whole tracebacks.
"""

import logging
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

from pages.frame.websocket_limits import TokenBucket
from pages.streamlit_fixes.installation import Replacement, apply

BURST, PER_MINUTE = 10, 10  # lines from the same place
MAX_CHARACTERS = 500
_ROOT = Path(__file__).parents[2]
_Place = tuple[str, int, str]
_handle = logging.Logger.handle
_lock = threading.Lock()
_buckets: dict[_Place, TokenBucket] = {}  # as many as there are places in the code
_dropped: Counter[_Place] = Counter()


def install() -> None:
    """Replace the function that hands a record to the handlers of a logger; repeated calls do nothing."""
    apply(Replacement(logging.Logger, "handle", "self record", _handle_limited))


def _handle_limited(logger: logging.Logger, record: logging.LogRecord) -> None:
    if record.levelno < logging.WARNING:
        _handle(logger, record)
        return
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
        bucket = _buckets.setdefault(place, TokenBucket(PER_MINUTE / 60, BURST))
        if not bucket.take(1, time.monotonic()):
            _dropped[place] += 1
            return
        dropped = _dropped.pop(place, 0)
    if not sys.stderr.isatty():
        text = record.getMessage()
        if error is not None:
            text += f": {type(error).__name__} ({', from '.join(places)}): {error}"
        record.msg, record.args, record.exc_info, record.exc_text = _escape(text), (), None, None
        record.stack_info = None
    if dropped:
        record.msg, record.args = f"{record.getMessage()} [{dropped} more like this]", ()
    _handle(logger, record)


def _escape(text: str) -> str:
    """Return the text on one line, without characters that a terminal would act on."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text[:MAX_CHARACTERS]
    )
