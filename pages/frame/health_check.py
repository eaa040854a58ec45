"""Answer the health check with 503 until a first class can come, and while no session can be opened."""

import asyncio
import threading

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.frame import warm_up

_PATH = "/_stcore/health"
_BROWSER = "Mozilla/"  # every browser's User-Agent begins so


class CheckHealth:
    """ASGI middleware: proxies, containers and scripts wait for a warm server; a browser is answered at once.

    Streamlit's page asks before it connects, and the single user's first page must not wait for the warm-up.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a health check first opens what a session needs."""
        app = self._app
        if scope["type"] == "http" and scope["path"].endswith(_PATH):
            if reason := _explain_unready(Headers(scope=scope).get("user-agent", "")):
                app = PlainTextResponse(reason, 503)
        elif scope["type"] != "lifespan":
            warm_up.PRECEDENCE.note_request()
        await app(scope, receive, send)


def _explain_unready(user_agent: str) -> str:
    """Return why the server cannot serve this client, or ''."""
    if warm_up.is_wanted() and not warm_up.READY.is_set() and not user_agent.startswith(_BROWSER):
        return "the server is warming up"
    try:
        asyncio.new_event_loop().close()
        threading.Thread(target=int).start()
    except (OSError, RuntimeError) as error:  # no descriptor, or no thread
        return f"no session can be opened: {error}"
    return ""
