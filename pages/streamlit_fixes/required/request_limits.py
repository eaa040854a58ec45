"""Limit how slowly a client may send and read, and how much of all requests' bodies may arrive at once.

A security guard, always installed. `LimitBodies` is ASGI middleware; the other limits replace two functions of uvicorn,
which has none. deploy/haproxy.cfg has limits of its own, but a body of one byte per second passes them.
"""

import asyncio
import os
import socket
import time
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pages.streamlit_fixes.installation import FunctionReplacement, apply
from pages.streamlit_fixes.required import upload_guard

HEADER_BYTES = 2**16  # an address of the app has less than 2 kB, a session's cookies less than 1 kB
HEADER_S = 30.0  # for the first request; a later one takes at most twice as long
BODY_S = 60.0  # the longest pause of a request's body, which arrives at BODY_RATE or faster
BODY_RATE = 4096  # bytes per second
UNREAD_S = 75.0  # in which a client must read something of what is sent to it
_UNFINISHED = object()  # a request that is not answered yet, or whose answer is not read yet
_HEADER = "_vitviz_header"  # the bytes that have arrived of a connection's unfinished header
_connect = HttpToolsProtocol.connection_made
_receive = HttpToolsProtocol.data_received


class _RefusedError(OSError):
    """A body is too slow or too much. Since it is an OSError, Starlette closes the files of the upload."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.response = PlainTextResponse(reason, status, {"Connection": "close"})


class LimitBodies:
    """ASGI middleware: refuses bodies that arrive too slowly, or of which too much has arrived on all connections.

    Streamlit reads each upload into memory before `upload_guard` can refuse it: 24 of 100 MB at once took 2.9 GB.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._arrived_bytes = 0  # of all requests that are not answered yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; the deadline of its body moves with the bytes that arrive."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline: float | None = time.monotonic() + BODY_S
        size = 0

        async def receive_in_time() -> Message:
            nonlocal deadline, size
            if deadline is None:  # the body is complete: what is awaited is the client's leaving
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            except TimeoutError:
                raise _RefusedError(408, "The upload is too slow.") from None
            arrived = len(message.get("body", b""))
            size += arrived
            self._arrived_bytes += arrived
            if arrived and self._arrived_bytes > upload_guard.count_free_bytes():
                raise _RefusedError(413, upload_guard.REFUSAL)
            deadline = min(deadline + arrived / BODY_RATE, time.monotonic() + BODY_S)
            if not message.get("more_body"):
                deadline = None
            return message

        try:
            await self._app(scope, receive_in_time, send)
        except _RefusedError as refusal:
            await refusal.response(scope, receive, send)
        finally:
            self._arrived_bytes -= size


def _limit_connection(protocol: HttpToolsProtocol, transport: asyncio.Transport) -> None:
    """Accept a connection, whose client must send requests and read answers in time."""
    _connect(protocol, transport)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * UNREAD_S))
    protocol.loop.call_later(HEADER_S, _check_requests, protocol, None)


def _receive_bounded(protocol: HttpToolsProtocol, data: bytes) -> None:
    """Parse what has arrived; refuse a header without end, which uvicorn would hold: 18 MB of lines took 400 MB."""
    _receive(protocol, data)
    is_header = (
        protocol.scope is not None and "method" not in protocol.scope
    )  # uvicorn sets it at the header's end
    size = protocol.__dict__.get(_HEADER, 0) + len(data) if is_header else 0
    protocol.__dict__[_HEADER] = size
    if size > HEADER_BYTES and not protocol.transport.is_closing():
        protocol.send_400_response("The header is too long.")


def _check_requests(protocol: HttpToolsProtocol, answered: Any) -> None:
    """Close a connection on which no request has arrived since the one that was answered by the last check."""
    if protocol not in protocol.connections or protocol.transport.is_closing():  # or it became a websocket
        return
    is_read = protocol.transport.get_write_buffer_size() == 0
    is_unfinished = protocol.cycle is not None and not (protocol.cycle.response_complete and is_read)
    if protocol.cycle is answered and not is_unfinished:
        protocol.transport.abort()
    else:
        last = _UNFINISHED if is_unfinished else protocol.cycle
        protocol.loop.call_later(HEADER_S, _check_requests, protocol, last)


def install() -> None:
    """Replace the functions of uvicorn that accept a connection and parse requests; repeated calls do nothing."""
    apply(
        FunctionReplacement(HttpToolsProtocol, "connection_made", "self transport", _limit_connection),
        FunctionReplacement(HttpToolsProtocol, "data_received", "self data", _receive_bounded),
        FunctionReplacement(HttpToolsProtocol, "send_400_response", "self msg"),
    )
