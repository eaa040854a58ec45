"""A headless Firefox, driven by WebDriver BiDi over its own websocket: no driver program, and no patched browser."""

from __future__ import annotations

import copy
import itertools
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
_ANSWER_S = 60.0
# In every page: all(selector) also finds what lies in shadow roots; named(text) finds what a person would press.
_FINDERS = """() => {
  window.all = (selector, root = document) => [...root.querySelectorAll('*')].flatMap((node) => [
    ...(node.matches(selector) ? [node] : []), ...(node.shadowRoot ? all(selector, node.shadowRoot) : [])]);
  const seen = (node) => node.getClientRects().length && getComputedStyle(node).visibility !== 'hidden';
  window.named = (text) => all('button, a, label, summary, [role=option]').find((node) => seen(node) &&
    [node.innerText, node.title, node.ariaLabel].some((name) => name?.includes(text)));
  window.reads = (text) => all('body, .vv').some((node) => node.innerText.includes(text));
}"""


class Firefox:
    """One tab. `events` holds what all tabs logged and requested, `folder` their downloads."""

    def __init__(self, socket: ClientConnection, folder: Path) -> None:
        self._socket, self._ids, self.folder = socket, itertools.count(1), folder
        self.events: list[dict[str, Any]] = []
        self.send("session.new", capabilities={})
        self.send("script.addPreloadScript", functionDeclaration=_FINDERS)
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; raises AssertionError for an error."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(timeout=_ANSWER_S))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]
            self.events.append(answer)

    def visitor(self) -> Firefox:
        """Return the tab of another person: a window with cookies of its own."""
        other = copy.copy(self)
        person = self.send("browser.createUserContext")["userContext"]
        other.context = self.send("browsingContext.create", type="window", userContext=person)["context"]
        return other

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
        attempt = (
            f"(() => {{ try {{ return {expression} }} catch {{ return null }} }})()"  # nothing is there yet
        )
        while (seen := self.read(attempt)) != value:
            assert time.monotonic() < end, f"{expression}: expected {value!r}, is {seen!r}"
            time.sleep(0.05)

    def point(self, *places: tuple[float, float], click: bool = False) -> None:
        """Move the pointer to a place of the window, in px; press there, and draw on to any further places."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 60} for x, y in places]
        down, up = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
        actions = [moves[0], down, *moves[1:], up] if click else moves
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        self.send("input.performActions", context=self.context, actions=[pointer])

    def box(self, node: str) -> tuple[float, float, float, float]:
        """Scroll the element of a JavaScript expression into view; return its x, y, width and height in px at rest."""
        self.wait(f"!!{node}", True, 60)
        read = (
            f"(node => (node.scrollIntoView({{block: 'center', behavior: 'instant'}}),"
            f" (box => [box.x, box.y, box.width, box.height])(node.getBoundingClientRect())))({node})"
        )
        before, box = None, self.read(read)
        while box != before:  # what loads above an element moves it away from under the pointer
            time.sleep(0.1)
            before, box = box, self.read(read)
        return tuple(box)

    def touch(self, node: str, *shares: tuple[float, float], click: bool = True) -> None:
        """Point at shares of an element's width and height, its middle by default."""
        self.send("browsingContext.activate", context=self.context)
        x, y, width, height = self.box(node)
        self.point(*((x + u * width, y + v * height) for u, v in shares or [(0.5, 0.5)]), click=click)

    def click(self, name: str) -> None:
        """Press the first control whose text or label contains a name."""
        self.touch(f"named({json.dumps(name)})")

    def write(self, text: str) -> None:
        """Press keys, one per letter; '\ue007' is Enter."""
        keys = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self.send(
            "input.performActions",
            context=self.context,
            actions=[{"type": "key", "id": "keys", "actions": keys}],
        )

    def upload(self, node: str, file: Path) -> None:
        """Give a file to an input."""
        self.wait(f"!!{node}", True, 60)
        answer = self.send(
            "script.evaluate", expression=node, target={"context": self.context}, awaitPromise=True
        )
        self.send("input.setFiles", context=self.context, element=answer["result"], files=[str(file)])

    def list_faults(self, server: str = "none") -> list[str]:
        """Return errors of the pages' consoles and requests to a network beyond a server."""
        faults = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "log.entryAdded" and params.get("level") == "error":
                faults.append(str(params.get("text")))
            url = str(params.get("request", {}).get("url", ""))
            if url.startswith("http") and not url.startswith(server):
                faults.append(url)
        return faults


@contextmanager
def running(folder: Path) -> Iterator[Firefox]:
    """A Firefox with a fresh profile in a folder."""
    (folder / "profile").mkdir()
    settings = {"browser.download.folderList": 2, "browser.download.dir": str(folder)}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
    (folder / "profile" / "user.js").write_text("".join(lines))
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
            yield Firefox(socket, folder)
    finally:
        process.terminate()
        process.wait(20)
