"""Give every session the file descriptors that it needs, and fail the health check when no session can be opened.

A security guard, always installed. Streamlit gives each session an event loop of its own, which holds three
descriptors until two minutes after the session's end: with `ulimit -n 256` the 80th session was refused.
"""

import asyncio
import sys
import threading
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession

from pages.streamlit_fixes.installation import Replacement, apply

_HEALTH = "/_stcore/health"


class _SharedLoop:
    """One event loop for the script threads of all sessions: no page runs one, and an idle one is only held."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __get__(self, session: Any, owner: Any = None) -> asyncio.AbstractEventLoop:
        return self._loop

    def __set__(self, session: Any, loop: asyncio.AbstractEventLoop) -> None:
        loop.close()


_LOOP = Replacement(AppSession, "_script_event_loop", None, _SharedLoop())
_CLOSE = Replacement(app_session, "_close_script_event_loop", "loop", lambda loop: None)


def install() -> None:
    """Raise the limit on open files as far as allowed, and let sessions share one event loop."""
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    apply(_LOOP, _CLOSE)


class CheckCapacity:
    """ASGI middleware: the health check answers 503 while the server cannot open a session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a health check first opens what a session needs."""
        app = self._app
        if scope["type"] == "http" and scope["path"].endswith(_HEALTH):
            try:
                asyncio.new_event_loop().close()
                threading.Thread(target=int).start()
            except (OSError, RuntimeError) as error:  # no descriptor, or no thread
                app = PlainTextResponse(f"no session can be opened: {error}", 503)
        await app(scope, receive, send)
