"""Limit the messages of one websocket, so that no session can block the server for the others.

Streamlit handles all messages that have arrived before it yields to the event loop: 5,000 reruns of 36 bytes blocked
the server for 13 to 23 s.

This module is ASGI middleware; it uses no private API of Streamlit and replaces one function of uvicorn.
"""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from pages.streamlit_fixes.installation import FunctionReplacement, apply
from pages.streamlit_fixes.required.rerun_fairness import ACCOUNT, SHARES, Account

MESSAGE_BYTES = 2**20  # a page with 300 cached messages and all its widgets sends some 20 KB
# No page needs these kinds: `clear_cache` empties the caches of all sessions, and `load_git_info` may start git.
IGNORED = frozenset(
    (
        "clear_cache",
        "load_git_info",
        "set_run_on_save",
        "debug_disconnect_websocket",
        "debug_shutdown_runtime",
    )
)
TOKEN_BYTES = 2**16  # a larger message takes more than one token
SPACING_S = 1 / 60  # between two messages that the app handles; a drag sends 30 per second
RETRY_S = 0.2  # until a rerun that has to wait asks again, if no script has ended before
MOST_WAITING = 300  # messages of a socket
PIECE_BYTES = 2**12
CLOSE_S = 0.5  # for the client to receive the close frame
LOG_EVERY_S = 60.0
TOO_LARGE, UNREADABLE, TOO_MANY = 1009, 1002, 1008  # RFC 6455, section 7.4.1
_WAITING = "_vitviz_waiting"  # a connection's bytes that are not parsed yet
_receive = WebSocketsSansIOProtocol.data_received
_logged_at = -LOG_EVERY_S


@dataclass
class TokenBucket:
    """Tokens that refill at a steady rate up to `burst`; every message takes some."""

    per_second: float
    burst: float
    tokens: float = field(init=False)
    _filled_at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def take(self, tokens: float, now_s: float) -> bool:
        """Take tokens at a time in seconds, or return False and take none if there are too few."""
        seconds = 0.0 if self._filled_at is None else now_s - self._filled_at
        self.tokens, self._filled_at = min(self.burst, self.tokens + seconds * self.per_second), now_s
        if self.tokens < tokens:
            return False
        self.tokens -= tokens
        return True


@dataclass(frozen=True)
class Rerun:
    """The part of a rerun message that decides whether a later one replaces it."""

    page: str
    fragment: str  # '' for the whole page
    is_replaceable: bool  # False if it carries a click or the browser's way back


@dataclass(frozen=True)
class _Waiting:
    message: Message
    rerun: Rerun | None = None


class SocketLimits:
    """The buckets of one websocket: a quick drag of a slider sends 30 reruns per second.

    Polling fragments have a separate bucket, because their messages arrive at once after the server or the network
    stalls.
    """

    def __init__(self) -> None:
        self._reruns = TokenBucket(per_second=30, burst=60)
        self._polls = TokenBucket(per_second=30, burst=120)
        self._others = TokenBucket(per_second=30, burst=60)
        self.rerun: Rerun | None = None  # that was checked last

    def check(self, payload: bytes | None, now_s: float) -> tuple[bool, tuple[int, str] | None]:
        """Return whether the app should see a message, and the code and reason to close the socket with, if any."""
        if payload is None:
            return False, (UNREADABLE, "Expected binary messages, received text")
        if len(payload) > MESSAGE_BYTES:
            return False, (TOO_LARGE, f"Expected at most {MESSAGE_BYTES} bytes, received {len(payload)}")
        message = BackMsg()
        try:
            message.ParseFromString(payload)
        except DecodeError:
            return False, (UNREADABLE, "Expected a message of Streamlit's protocol")
        kind = message.WhichOneof("type")
        bucket, tokens = self._others, 1 + len(payload) // TOKEN_BYTES
        self.rerun = None
        if kind == "rerun_script":
            self.rerun = _describe(message.rerun_script)
            is_poll = message.rerun_script.is_auto_rerun and self.rerun.fragment
            bucket = self._polls if is_poll else self._reruns
        elif kind == "file_urls_request":
            tokens += len(message.file_urls_request.file_names)
        if not bucket.take(tokens, now_s):
            return False, (
                TOO_MANY,
                f"Too many messages: at most {bucket.per_second} per second; reload the page",
            )
        return kind is not None and kind not in IGNORED, None


def _describe(script: ClientState) -> Rerun:
    is_click = any(
        str(state.WhichOneof("value")).endswith("trigger_value") or state.HasField("chat_input_value")
        for state in script.widget_states.widgets
    )
    return Rerun(script.page_script_hash, script.fragment_id, not (is_click or script.is_history_navigation))


class LimitSockets:
    """ASGI middleware that reads ahead of the app on each websocket, and closes the socket that sends too much.

    It reads ahead because most of a flood has arrived when its first message is handled; the rest is dropped.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a websocket is closed with a reason when it sends too much."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        account = SHARES.open((scope.get("client") or [""])[0])
        ACCOUNT.set(account)
        reader = _Reader(receive, account)
        task = asyncio.create_task(reader.read())

        async def send_until_closed(message: Message) -> None:
            if reader.closed is None:
                await send(message)

        try:
            await self._app(scope, reader.next_message, send_until_closed)
        finally:
            task.cancel()
            SHARES.close(account)
        if reader.closed is not None:  # only now, since a client that reads nothing may hold this up
            code, reason = reader.closed
            _log(reason)
            await send({"type": "websocket.close", "code": code, "reason": reason})


class _Reader:
    """The messages of one websocket that have arrived and that the app has not handled yet."""

    def __init__(self, receive: Receive, account: Account) -> None:
        self.closed: tuple[int, str] | None = None  # code and reason
        self._receive = receive
        self._account = account
        self._limits = SocketLimits()
        self._waiting: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._has_left = False
        self._next_at = 0.0
        self._may_ask = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(self._may_ask.set)

        account.wake = wake

    async def read(self) -> None:
        """Read messages until the client leaves or sends too much."""
        last: Message = {"type": "websocket.disconnect", "code": 1006}
        try:
            while self.closed is None:
                message = await self._receive()
                if message["type"] == "websocket.disconnect":
                    last = message
                    return
                passes, rerun = True, None
                if message["type"] == "websocket.receive":
                    passes, self.closed = self._limits.check(message.get("bytes"), time.monotonic())
                    rerun = self._limits.rerun
                if rerun is not None:
                    SHARES.ask(self._account, is_fragment=bool(rerun.fragment))
                if passes:
                    self._waiting.append(_Waiting(message, rerun))
                    self._arrived.set()
                if len(self._waiting) > MOST_WAITING:
                    self.closed = (TOO_MANY, f"More than {MOST_WAITING} messages wait; reload the page")
        finally:
            self._has_left = True
            self._waiting.append(_Waiting(last))
            self._arrived.set()

    async def next_message(self) -> Message:
        """Return the next message for the app, once the event loop has served everybody else."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        if self._waiting[0].message["type"] == "websocket.connect":
            return self._waiting.popleft().message
        await asyncio.sleep(max(0.0, self._next_at - time.monotonic()))
        while self.closed is None and self._waiting[0].rerun and not SHARES.may_start(self._account):
            if self._has_left or self._is_replaced():
                self._waiting.popleft()
            else:
                self._may_ask.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._may_ask.wait(), RETRY_S)
        self._next_at = time.monotonic() + SPACING_S
        if self.closed is not None:
            return {"type": "websocket.disconnect", "code": self.closed[0]}
        return self._waiting.popleft().message

    def _is_replaced(self) -> bool:
        """Return True if a later rerun of the same page makes the first one useless, as in Streamlit's own queue."""
        first, *later = (waiting.rerun for waiting in self._waiting if waiting.rerun is not None)
        return first.is_replaceable and any(
            rerun.page == first.page and rerun.fragment in ("", first.fragment) for rerun in later
        )


def _receive_in_pieces(protocol: WebSocketsSansIOProtocol, chunk: bytes) -> None:
    """Parse a few frames, and the rest once the app has taken them: 256 KB hold 32,000 frames, which take a second."""
    # Streamlit's limit, 64 MB, is for what a page sends: uvicorn would hold as much of a message that never ends.
    protocol.conn.max_message_size = MESSAGE_BYTES
    waiting: bytearray | None = protocol.__dict__.get(_WAITING)
    if protocol.close_sent and len(chunk) > PIECE_BYTES:
        return
    if waiting is not None:
        waiting.extend(chunk)
    elif len(chunk) <= PIECE_BYTES:
        _receive(protocol, chunk)
    else:
        protocol.__dict__[_WAITING] = bytearray(chunk)
        _receive_piece(protocol)


def _receive_piece(protocol: WebSocketsSansIOProtocol) -> None:
    """Parse the next piece if the app has taken all messages before it; read on after the last one."""
    waiting: bytearray = protocol.__dict__[_WAITING]
    if protocol.close_sent or protocol.disconnected:
        del protocol.__dict__[_WAITING]
        if not protocol.transport.is_closing():  # what was dropped may hold the client's own close frame
            protocol.transport.resume_reading()
            protocol.loop.call_later(CLOSE_S, protocol.transport.close)
        return
    protocol.transport.pause_reading()
    if protocol.queue.empty():
        piece = bytes(waiting[:PIECE_BYTES])
        del waiting[:PIECE_BYTES]
        _receive(protocol, piece)
    full = not protocol.queue.empty()
    if waiting:
        protocol.read_paused = False  # else the app would read on before the rest is parsed
        protocol.loop.call_later(0.001 if full else 0.0, _receive_piece, protocol)
        return
    del protocol.__dict__[_WAITING]
    protocol.read_paused = full  # the app reads on once it has taken these
    if not full and not protocol.transport.is_closing():
        protocol.transport.resume_reading()


def _log(reason: str) -> None:
    """Log why a socket was closed, at most once a minute."""
    global _logged_at
    if time.monotonic() - _logged_at >= LOG_EVERY_S:
        _logged_at = time.monotonic()
        logging.getLogger(__name__).warning(
            "A websocket was closed: %s. Others may follow within %d s.", reason, LOG_EVERY_S
        )


def middleware() -> list[Middleware]:
    """Return the middleware for `st.App`, and have uvicorn parse large chunks in pieces."""
    known = {"conn", "queue", "read_paused", "close_sent", "disconnected", "transport", "loop"}
    if known <= {*WebSocketsSansIOProtocol.__init__.__code__.co_names}:
        apply(FunctionReplacement(WebSocketsSansIOProtocol, "data_received", "self data", _receive_in_pieces))
    else:
        logging.getLogger(__name__).warning("This uvicorn is unknown: it parses large chunks at once.")
    return [Middleware(LimitSockets)]
