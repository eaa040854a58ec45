"""A headless Firefox, driven by WebDriver BiDi over its own websocket: no driver program, and no patched browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PATH = shutil.which("firefox-esr") or shutil.which("firefox")
_START_S = 60.0
_ANSWER_S = 30.0


class Firefox:
    """One tab. `events` holds what the page logged and requested."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._sent = socket, 0
        self.events: list[dict[str, Any]] = []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; raises AssertionError for an error."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(timeout=_ANSWER_S))
            if answer.get("id") == self._sent:
                assert answer["type"] == "success", answer
                return answer["result"]
            self.events.append(answer)

    def open(self, url: str, width: int, height: int) -> None:
        size = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self.context, viewport=size)
        self.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def read(self, expression: str) -> Any:
        """Return the value of a JavaScript expression that gives JSON."""
        answer = self.send(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def wait(self, expression: str, value: Any, seconds: float = 15.0) -> None:
        """Wait until an expression has a value."""
        end = time.monotonic() + seconds
        while (seen := self.read(expression)) != value:
            assert time.monotonic() < end, f"{expression}: expected {value!r}, is {seen!r}"
            time.sleep(0.05)

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the pointer to a place of the window, in px, and press it there."""
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        self.send("input.performActions", context=self.context, actions=[pointer])

    def click(self, name: str) -> None:
        """Scroll the first button whose text or label contains a name into view, and click its middle."""
        box = self.read(
            "(button => (button.scrollIntoView({block: 'center'}), (box => [box.x + box.width / 2,"
            " box.y + box.height / 2])(button.getBoundingClientRect())))([...document.querySelectorAll('button')]"
            f".find(b => [b.textContent, b.title, b.ariaLabel].some(t => t?.includes({json.dumps(name)}))))"
        )
        self.point(*box, click=True)

    def list_faults(self) -> list[str]:
        """Return errors of the page's console and requests to a network."""
        faults = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "log.entryAdded" and params.get("level") == "error":
                faults.append(str(params.get("text")))
            url = str(params.get("request", {}).get("url", ""))
            if url.startswith("http"):
                faults.append(url)
        return faults


@contextmanager
def running(folder: Path) -> Iterator[Firefox]:
    """A Firefox with a fresh profile in a folder."""
    (folder / "profile").mkdir()
    log = folder / "firefox.log"
    arguments = [
        "--headless",
        "--no-remote",
        "--profile",
        str(folder / "profile"),
        "--remote-debugging-port=0",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen([str(PATH), *arguments], stdout=out, stderr=out)
    try:
        end = time.monotonic() + _START_S
        while not (address := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text("utf-8"))):
            assert time.monotonic() < end and process.poll() is None, log.read_text("utf-8")
            time.sleep(0.1)
        with connect(f"{address[1]}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait(20)
