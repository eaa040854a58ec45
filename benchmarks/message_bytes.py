"""Count the bytes of a first visit, of a pin, of a change of layer and of a poll of the live lab.

    python benchmarks/message_bytes.py [--before PATH] [--polls 60] [--small]

Chromium opens each page of a real server. Counted are the websocket's messages and the fetched files of views, both
uncompressed; 'code' is the JavaScript, CSS and HTML in the messages. Polls that draw nothing do not count. PATH is a
checkout to compare with. Aims: at most 16 KB per poll and 4 KB per pin. Writes benchmarks/message_bytes.md; --small
measures two polls and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from playwright.sync_api import Page, Response, WebSocket, sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path, free_port, stop_server  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

ATTENTION = "attention?model=preset:vit_digits&image=digits:0&attention.layer=3"
LAB = "live_lab?live_lab.length=4000&live_lab.snapshots=60"
QUIET_S = 1.0  # this long without a message, and what was asked for is over
PATIENCE_MS = 120_000
Row = tuple[str, int, int, int]  # what, bytes of messages, of them code, bytes of fetched files


@dataclass
class Ear:
    """Hears what arrives at one page."""

    messages: int = 0
    code: int = 0
    files: int = 0
    polls: list[tuple[int, int]] = field(
        default_factory=list
    )  # (bytes, of them code) of runs that brought a view
    drew: bool = False
    began: tuple[int, int] = (0, 0)
    last: float = field(default_factory=time.monotonic)

    def attach(self, page: Page) -> None:
        page.on("websocket", self._socket)
        page.on("response", self._response)

    def _socket(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._frame)

    def _frame(self, payload: str | bytes) -> None:
        data = payload.encode() if isinstance(payload, str) else payload
        self.messages += len(data)
        self.last = time.monotonic()
        message = ForwardMsg()
        message.ParseFromString(data)
        part = message.delta.new_element.bidi_component
        self.code += len((part.js_content + part.css_content + part.html_content).encode())
        self.drew |= bool(part.id)
        if message.WhichOneof("type") == "script_finished":
            if self.drew:
                self.polls.append((self.messages - self.began[0], self.code - self.began[1]))
            self.drew, self.began = False, (self.messages, self.code)

    def _response(self, response: Response) -> None:
        if "/_stcore/bidi-components/" in response.url:
            self.files += len(response.body())

    def reset(self) -> None:
        self.messages = self.code = self.files = 0
        self.polls, self.drew, self.began = [], False, (0, 0)

    def row(self, what: str) -> Row:
        return what, self.messages, self.code, self.files


@contextmanager
def server(checkout: Path) -> Iterator[str]:
    """Start a checkout's app on a free port, with runs of its own; ended at the end."""
    with tempfile.TemporaryDirectory() as runs:
        port = free_port()
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=checkout,
            env={**os.environ, "VITVIZ_RUNS": runs},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop_server(process)


def heard(page: Page, ear: Ear, what: str, act: Callable[[], object]) -> Row:
    """Return what arrives from an act until nothing arrives any more."""
    ear.reset()
    act()
    ear.last = time.monotonic()
    while time.monotonic() - ear.last < QUIET_S:
        page.wait_for_timeout(100)
    return ear.row(what)


def attention(page: Page, address: str, ear: Ear) -> Iterator[Row]:
    """Return a first visit of the attention page, a pin, a change of layer, the same visit once more."""

    def visit() -> None:
        page.goto(f"{address}/{ATTENTION}")
        page.locator(".vv[data-query][data-ready=true]").first.wait_for(timeout=PATIENCE_MS)

    yield heard(page, ear, "first visit of Attention", visit)
    view = page.locator(".vv[data-query]").first
    yield heard(
        page, ear, "pin a patch", lambda: view.locator(".ax-stage").click(position={"x": 40, "y": 60})
    )
    yield heard(page, ear, "change the layer", lambda: view.locator(".ax-layers button").first.click())


def lab(page: Page, address: str, ear: Ear, polls: int) -> Iterator[Row]:
    """Return a poll of the live lab that brings a view, while a small ViT trains: the mean and the largest of many."""
    page.goto(f"{address}/{LAB}")
    page.get_by_role("button", name="Start training").click()
    page.locator(".timeline-where").get_by_text(re.compile(r"snapshot \d")).wait_for(timeout=PATIENCE_MS)
    page.wait_for_timeout(5000)  # the page's own runs are over, fragments poll
    ear.reset()
    while len(ear.polls) < polls:
        page.wait_for_timeout(200)
    size, code = (sum(part) // len(ear.polls) for part in zip(*ear.polls, strict=True))
    yield f"poll of the live lab with new curves, mean of {len(ear.polls)}", size, code, 0
    yield "the largest of these polls", *max(ear.polls), 0


def measure(checkout: Path, polls: int) -> list[Row]:
    """Return all rows of one checkout, in a fresh browser context a page."""
    rows: list[Row] = []
    with sync_playwright() as play, server(checkout) as address:
        browser = play.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for part in (attention, lambda *args: lab(*args, polls)):
            page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            ear = Ear()
            ear.attach(page)
            rows += part(page, address, ear)
        browser.close()
    return rows


def table(rows: list[Row]) -> str:
    lines = ["| action | messages, bytes | of these, code | fetched files, bytes |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {a:,} | {b:,} | {c:,} |" for what, a, b, c in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--polls", type=int, default=60, help="number of polls of the live lab")
    parser.add_argument("--small", action="store_true", help="two polls; writes nothing")
    args = parser.parse_args()
    if args.small:
        args.polls = 2
    parts = []
    if args.before:
        parts.append(f"## Before\n\n{table(measure(args.before.resolve(), args.polls))}\n\n## Now\n\n")
    parts.append(table(measure(ROOT, args.polls)))
    about = f"{date.today()}, {os.cpu_count()} cores, {processor()}, Python {platform.python_version()}"
    text = (
        "# Bytes of a message\n\n`python benchmarks/message_bytes.py`, "
        f"{about}. Sizes are uncompressed. Aims: at most 16,384 bytes per poll and 4,096 per pin.\n\n"
        + "".join(parts)
        + "\n"
    )
    if not args.small:
        (ROOT / "benchmarks" / "message_bytes.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
