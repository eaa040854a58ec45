"""A user without a browser: speaks Streamlit's websocket protocol, and holds messages as a browser does."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX

T = TypeVar("T")
ANSWER_S = 120.0  # the longest that a script may take; no answer by then is an error


def run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: browser tests leave an event loop running in the worker's thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@dataclass
class Answer:
    """The answer to one run: its time, the server's processor time meanwhile, bytes, options and exceptions."""

    seconds: float = 0.0
    processor_s: float = 0.0  # of the clock that the user was given
    size: int = 0
    options: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)


class Visitor:
    """One session of a server."""

    def __init__(self, port: int, cookies: str = "", clock: Callable[[], float] = lambda: 0.0) -> None:
        self.port, self._cookies, self._clock = port, cookies, clock
        self.pages: dict[str, str] = {}  # address -> the page's hash
        self.page, self.session = "", ""
        self.fragments: dict[str, float] = {}  # that the page polls, with their pace
        self.switches: dict[
            str, str
        ] = {}  # ids of the page's switches outside of the sidebar, with their fragments
        self.buttons: dict[str, str] = {}  # label -> id
        self.views: dict[str, tuple[str, str]] = {}  # key of a view or an uploader -> its id, its fragment
        self._on: dict[str, bool] = {}
        self._held: set[str] = (
            set()
        )  # what a browser holds of messages: .streamlit/config.toml has it forget none

    async def open(self) -> None:
        """Connects, as a new session or with the cookies of an earlier visit."""
        headers = {"Cookie": self._cookies} if self._cookies else {}
        self._socket = await websockets.connect(
            f"ws://127.0.0.1:{self.port}/_stcore/stream",
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers=headers,
            max_size=None,
            open_timeout=60,
            ping_interval=None,
        )

    async def run(self, page: str = "", query: str = "") -> Answer:
        """A page by its address, or the one that is open; the first run of a session is the start page's."""
        message = BackMsg()
        if page:
            self.page, self._on = self.pages[page], {}
        self._fill(message, query)
        self.fragments, self.switches, self.buttons = {}, {}, {}
        return await self._ask(message)

    async def turn(self, switch: str) -> Answer:
        """Turns a switch of the page, and has the page run again, or the fragment that the switch stands in."""
        self._on[switch] = not self._on.get(switch, False)
        message = BackMsg()
        self._fill(message, "")
        message.rerun_script.fragment_id = self.switches[switch]
        return await self._ask(message)

    async def press(self, label: str, query: str = "") -> Answer:
        """Clicks a button, at the address that the page was asked for by."""
        message = BackMsg()
        self._fill(message, query)
        clicked = WidgetState(id=self.buttons[label], trigger_value=True)
        message.rerun_script.widget_states.widgets.append(clicked)
        return await self._ask(message)

    async def trigger(self, key: str, event: str, value: object) -> Answer:
        """Send an event of a view, as its JavaScript does."""
        view, _ = self.views[key]
        events = json.dumps([{"event": event, "value": value}])
        name = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{view}__events"
        return await self._change(key, WidgetState(id=name, json_trigger_value=events))

    async def upload(self, key: str, name: str, content: bytes) -> Answer:
        """Send a file, then tell its uploader."""
        file_id = str(uuid.uuid4())
        url = await asyncio.to_thread(self._put_file, file_id, name, content)
        state = WidgetState(id=self.views[key][0])
        state.file_uploader_state_value.uploaded_file_info.add(
            file_id=file_id, name=name, size=len(content), file_urls={"file_id": file_id, "upload_url": url}
        )
        return await self._change(key, state)

    def _put_file(self, file_id: str, name: str, content: bytes) -> str:
        server = f"http://127.0.0.1:{self.port}/_stcore"
        with urllib.request.urlopen(f"{server}/health") as answer:
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        edge = uuid.uuid4().hex
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        headers = {
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "Cookie": cookie,
            "X-Xsrftoken": cookie.partition("=")[2],
        }
        url = f"{server}/upload_file/{self.session}/{file_id}"
        body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
        urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).close()
        return url

    async def _change(self, key: str, state: WidgetState) -> Answer:
        """Rerun the fragment of a view or an uploader with its changed value."""
        message = BackMsg()
        self._fill(message, "")
        message.rerun_script.fragment_id = self.views[key][1]
        message.rerun_script.widget_states.widgets.append(state)
        return await self._ask(message)

    async def poll(self, fragment: str) -> Answer:
        """One fragment that polls."""
        message = BackMsg()
        self._fill(message, "")
        message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, True
        return await self._ask(message)

    async def close(self) -> None:
        """Leaves."""
        await self._socket.close()

    def _fill(self, message: BackMsg, query: str) -> None:
        script = message.rerun_script
        script.query_string, script.page_script_hash = query, self.page
        script.widget_states.SetInParent()
        script.widget_states.widgets.extend(
            WidgetState(id=name, bool_value=value) for name, value in self._on.items()
        )
        script.cached_message_hashes.extend(self._held)

    async def _ask(self, message: BackMsg) -> Answer:
        answer, began, worked = Answer(), time.perf_counter(), self._clock()
        await self._socket.send(message.SerializeToString())
        while True:
            data: Any = await asyncio.wait_for(self._socket.recv(), ANSWER_S)
            answer.size += len(data)
            came = ForwardMsg()
            came.ParseFromString(data)
            if self._take(came, answer):
                answer.seconds, answer.processor_s = time.perf_counter() - began, self._clock() - worked
                return answer

    def _take(self, came: ForwardMsg, answer: Answer) -> bool:
        """Notes what a message says; whether it is the run's last."""
        kind = came.WhichOneof("type")
        if came.metadata.cacheable:
            self._held.add(came.hash)
        if kind == "navigation":
            pages = came.navigation.app_pages
            self.pages = {entry.url_pathname or "home": entry.page_script_hash for entry in pages}
        elif kind == "new_session":
            self.session = came.new_session.initialize.session_id
            self.page = came.new_session.page_script_hash
        elif kind == "auto_rerun":
            self.fragments[came.auto_rerun.fragment_id] = came.auto_rerun.interval
        elif kind == "delta":
            self._look(came, answer)
        # A run that ends early for another one is followed by that one.
        return kind == "script_finished" and came.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def _look(self, came: ForwardMsg, answer: Answer) -> None:
        element = came.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "exception":
            answer.exceptions.append(element.exception.message[:160])
        elif kind == "selectbox":
            answer.options.extend(element.selectbox.options)
        elif kind in ("bidi_component", "file_uploader"):
            view = getattr(element, kind).id
            self.views[view.split("-", 2)[2]] = view, came.delta.fragment_id
        elif kind == "button" and not element.button.disabled:
            self.buttons[element.button.label] = element.button.id
        elif kind == "checkbox" and came.metadata.delta_path[0] == 0 and not element.checkbox.disabled:
            self.switches[element.checkbox.id] = came.delta.fragment_id
            self._on.setdefault(element.checkbox.id, element.checkbox.default)
