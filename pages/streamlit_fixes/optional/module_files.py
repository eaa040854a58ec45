"""Send the browser's JavaScript and style sheets at once, and compressed as soon as the server has compressed them; let
browsers keep models' weights, which the server sends as gzip under a hash of their content.

Without this fix (Streamlit 1.67): each of a first visit's 150 files passes four middlewares and several threads, 1.6 ms
of processor time, Streamlit's own 2.6 MB are never compressed, and every reload asks for our files and weights again.
"""

import gzip
from functools import partial
from pathlib import Path

import streamlit
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from pages.streamlit_fixes.required import view_files

_STREAMLIT = Path(streamlit.__file__).with_name("static") / "static"
_KINDS = {".js": "application/javascript", ".css": "text/css; charset=utf-8"}
_AS_SENT_HERE = (b"range", b"if-none-match", b"if-modified-since", b"if-range")  # Streamlit answers these
_HEADERS = {
    "Cache-Control": "public, immutable, max-age=31536000",
    "Vary": "Accept-Encoding",
}  # names hold a hash
_compressed: dict[Path, bytes] = {}


def compress_all() -> None:
    """Compress every file for later requests: 0.8 s of processor time beside the interpreter, 7 MB.

    All are read first: each access to a file would wait for the interpreter, and compression does only once a file.
    """
    contents = {file: file.read_bytes() for file in sorted(set(_list_files().values()))}
    for file, content in contents.items():
        _compressed[file] = gzip.compress(content, 6)


def _list_files() -> dict[str, Path]:
    """Return the files by their path in an address."""
    base = config.get_option("server.baseUrlPath").strip("/")
    prefix = f"/{base}" if base else ""
    streamlits = {
        f"{prefix}/static/{file.parent.name}/{file.name}": file for file in _STREAMLIT.glob("*/*.*")
    }
    component = f"{prefix}/_stcore/bidi-components/{view_files.COMPONENT}"
    ours = {
        f"{component}/{file.relative_to(view_files.ROOT).as_posix()}": file
        for folder in view_files.FOLDERS
        for file in folder.rglob("*.*")
    }
    return {path: file for path, file in (streamlits | ours).items() if file.suffix in _KINDS}


class SendFiles:
    """ASGI middleware: a GET of one of the files is answered here, all else by the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._files = _list_files()
        self._media = f"/{config.get_option('server.baseUrlPath').strip('/')}/media/".replace("//", "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = scope.get("path", "")
        if path.startswith(self._media) and path.endswith(".gz"):
            return await self._app(scope, receive, partial(_send_cached, send))
        file = self._files.get(path)
        if file is None or scope.get("method") != "GET":
            return await self._app(scope, receive, send)
        headers = dict(scope["headers"])
        if any(name in headers for name in _AS_SENT_HERE):
            return await self._app(scope, receive, send)
        body, encoding = _compressed.get(file), {"Content-Encoding": "gzip"}
        if body is None or b"gzip" not in headers.get(b"accept-encoding", b""):
            body, encoding = file.read_bytes(), {}
        response = Response(body, headers=_HEADERS | encoding, media_type=_KINDS[file.suffix])
        await response(scope, receive, send)


async def _send_cached(send: Send, message: Message) -> None:
    """Let the browser that fetched a file keep it, and no cache that others share."""
    if message["type"] == "http.response.start" and message["status"] == 200:
        message["headers"] = [
            *message["headers"],
            (b"cache-control", b"private, immutable, max-age=31536000"),
        ]
    await send(message)
