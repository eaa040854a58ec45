"""Give every session the file descriptors that it needs.

A security guard, always installed. Streamlit gives each session an event loop of its own, which holds three
descriptors until two minutes after the session's end: with `ulimit -n 256` the 80th session was refused.
"""

import asyncio
import sys
from typing import Any

from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession

from pages.streamlit_fixes.installation import FunctionReplacement, apply


class _SharedLoop:
    """One event loop for the script threads of all sessions: no page runs one, and an idle one is only held."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __get__(self, session: Any, owner: Any = None) -> asyncio.AbstractEventLoop:
        return self._loop

    def __set__(self, session: Any, loop: asyncio.AbstractEventLoop) -> None:
        loop.close()


_LOOP = FunctionReplacement(AppSession, "_script_event_loop", None, _SharedLoop())
_CLOSE = FunctionReplacement(app_session, "_close_script_event_loop", "loop", lambda loop: None)


def install() -> None:
    """Raise the limit on open files as far as allowed, and let sessions share one event loop."""
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    apply(_LOOP, _CLOSE)
