"""Flood the websockets of a real server with protocol messages, and measure how long it is silent meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from tests.browser.conftest import serving
from tests.robustness.fuzz.watch import Entry
from tests.visitor import run_apart

SOCKETS = 10
MESSAGES = 10_000  # on each socket
LONGEST_SILENCE_S = 2.0  # of the server's processor time: a busy machine is no finding
QUICK_S = 0.25  # a server that answers within this time for QUIET_S has nothing left to do
QUIET_S = 2.0
GIVE_UP_S = 60.0


class Health:
    """The answers of `/_stcore/health`, asked for one after the other while the context is open."""

    def __init__(self, port: int, clock: Callable[[], float]) -> None:
        self.silence_s = 0.0  # of `clock`, without an answer
        self._clock = clock
        self._address = f"http://127.0.0.1:{port}/_stcore/health"
        self._asked = self._slow = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Health:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def quiet(self) -> bool:
        """Return True if every answer of the last QUIET_S was quick."""
        now = time.monotonic()
        return now - self._asked < QUICK_S and now - self._slow > QUIET_S

    def _ask(self) -> None:
        while not self._over.wait(0.05):
            self._asked, began_s = time.monotonic(), self._clock()
            try:
                urllib.request.urlopen(self._address, timeout=GIVE_UP_S).close()
            except OSError:  # refused, or too late: silent all the same
                self._slow = time.monotonic()
            now = time.monotonic()
            self.silence_s = max(self.silence_s, self._clock() - began_s)
            if now - self._asked > QUICK_S:
                self._slow = now


@dataclass(frozen=True)
class Flood:
    """What a server did while it was flooded."""

    silence_s: float
    seconds: float
    closed: Counter[str]  # how many sockets it closed, by code and reason

    def __str__(self) -> str:
        closed = ", ".join(f"{count} closed with {why}" for why, count in self.closed.items())
        silence = f"silent for {self.silence_s:.1f} s of processor time"
        return f"{silence}, over after {self.seconds:.1f} s, {closed or 'none closed'}"


def flood(port: int, data: bytes, clock: Callable[[], float]) -> Flood:
    """Send the same message many times on each of several sockets at once, as fast as the server reads."""
    return run_apart(_flood(port, data, clock))


async def _flood(port: int, data: bytes, clock: Callable[[], float]) -> Flood:
    frames = Frame(Opcode.BINARY, data).serialize(mask=True) * MESSAGES
    opened = [await open_socket(port) for _ in range(SOCKETS)]
    with Health(port, clock) as health:
        began = time.monotonic()
        reading = [asyncio.create_task(_read(one)) for one in opened]
        for one in opened:
            one.transport.write(frames)
        while not all(task.done() for task in reading) and time.monotonic() - began < GIVE_UP_S:
            await asyncio.sleep(0.05)
            sent = not any(one.transport.get_write_buffer_size() for one in opened)
            if sent and health.quiet():
                break
        closed = Counter(task.result() for task in reading if task.done())
        for one in opened:
            one.transport.abort()
        await asyncio.gather(*reading)
    return Flood(health.silence_s, time.monotonic() - began, closed)


async def open_socket(port: int) -> ClientConnection:
    """Open a session of the server."""
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    protocol: list[str] = ["streamlit"]
    return await connect(address, subprotocols=protocol, max_size=None, open_timeout=60, ping_interval=None)  # type: ignore[arg-type]


async def _read(socket: ClientConnection) -> str:
    """Read everything that the server sends, and return the code and reason with which it closes the socket."""
    try:
        while True:
            await socket.recv()
    except ConnectionClosed as closed:
        return "no code" if closed.rcvd is None else f"{closed.rcvd.code} {closed.rcvd.reason!r}"


def messages() -> dict[str, bytes]:
    """Return one message of every kind that a browser may send, and two that none sends."""
    found = {"empty": b"", "garbage": b"\xff" * 36}
    page = "0" * 32
    run = BackMsg()
    run.rerun_script.page_script_hash = page
    found["rerun"] = run.SerializeToString()
    poll = BackMsg()
    poll.rerun_script.fragment_id, poll.rerun_script.is_auto_rerun = page, True
    found["rerun of a fragment"] = poll.SerializeToString()
    for kind in ("load_git_info", "clear_cache", "stop_script", "set_run_on_save", "app_heartbeat"):
        found[kind] = BackMsg(**{kind: True}).SerializeToString()
    for kind in ("debug_disconnect_websocket", "debug_shutdown_runtime"):
        found[kind] = BackMsg(**{kind: True}).SerializeToString()
    urls = BackMsg()
    urls.file_urls_request.file_names.extend(["a.png"] * 5)
    found["file_urls_request"] = urls.SerializeToString()
    operation = BackMsg()
    operation.backend_operation_request.deferred_file.file_id = page
    found["backend_operation_request"] = operation.SerializeToString()
    return found


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, Callable[[], float]]]:
    """Start the app with its runs and its log in `folder`; yield its port and the clock of its processor time."""
    with serving(folder) as (port, started):
        yield port, partial(time.clock_gettime, ~started.pid << 3 | 2)  # clock_getcpuclockid(3) of Linux


@contextmanager
def entry(folder: Path) -> Iterator[Entry]:
    """Serve the app; each input is a message that ten sockets send 10,000 times."""
    with server(folder) as (port, clock):

        def take(data: bytes) -> None:
            seen = flood(port, data, clock)
            print(f"  {data[:40]!r} ({len(data)} bytes): {seen}", flush=True)
            assert seen.silence_s <= LONGEST_SILENCE_S, f"health was {seen}"

        yield Entry("sockets", list(messages().values()), take)
