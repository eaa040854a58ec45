"""A publisher of weights on this machine: plain files, a model hub, and a package index."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Server(ThreadingHTTPServer):
    """Serves `files` by path; a path under /short/ states more bytes than it sends.

    Paths that hold /resolve/ carry a hub's headers, and /api/models/OWNER/NAME lists the files below it. Attributes
    change the answers of the next requests.
    """

    daemon_threads = True
    files: dict[str, bytes]
    asked: list[str]  # paths of GET requests
    status: int  # other than 200: of every answer
    headers: dict[str, str]  # further ones
    seen: list[dict[str, str]]  # headers of all requests, their names in lower case
    cut_bytes: int  # the next GET ends after so many bytes, once
    pause_s: float  # before each 64 kB

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self._answer(True)

    def _answer(self, with_body: bool) -> None:
        server = self.server
        server.seen.append({name.lower(): value for name, value in self.headers.items()})
        # A hub serves a branch and the commit that it points to.
        body = server.files.get(self.path.replace(COMMIT, "main"))
        if self.path.startswith("/api/models/"):
            body = self._list_files("/".join(self.path.partition("?")[0].split("/")[3:5]))
        if server.status != 200 or body is None:
            self.send_response(server.status if server.status != 200 else 404)
            self._end_headers({"Content-Length": "0", **server.headers})
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        length = {"/short/file": len(body) + 1, "/large/file": 1 << 40}.get(self.path, len(body) - start)
        headers = {"Content-Length": str(length)}
        if "/resolve/" in self.path:
            headers |= {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        self._end_headers(headers | server.headers)
        if with_body:
            self._send(body[start:])

    def _list_files(self, repo: str) -> bytes | None:
        start = f"/{repo}/resolve/main/"
        files = [
            {"rfilename": path.removeprefix(start), "size": len(body)}
            for path, body in self.server.files.items()
            if path.startswith(start)
        ]
        listed = {"id": repo, "sha": COMMIT, "siblings": files}
        return json.dumps(listed).encode() if files else None

    def _end_headers(self, headers: dict[str, str]) -> None:
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()

    def _send(self, body: bytes) -> None:
        server = self.server
        if server.cut_bytes:
            body, server.cut_bytes = body[: server.cut_bytes], 0
        try:
            for start in range(0, len(body), 1 << 16):
                if server.pause_s:
                    time.sleep(server.pause_s)
                self.wfile.write(body[start : start + (1 << 16)])
        except OSError:  # who asked has gone
            return

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving() -> Iterator[Server]:
    """A server that answers, with no files yet."""
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked, running.seen, running.headers = {}, [], [], {}
        running.status, running.cut_bytes, running.pause_s = 200, 0, 0.0
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()
