"""Test that clients that send too slowly or too much, or read too slowly, are refused by a real uvicorn."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pages.streamlit_fixes.required import request_limits, upload_guard

GET = b"GET /none HTTP/1.1\r\nHost: localhost\r\n"
PUT = b"PUT /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
WAIT_S = 60.0  # a connection that is not closed by then stays open for ever


async def read_body(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def send_large(_: Request) -> Response:
    return Response(bytes(2**24))


async def send_much(_: Request) -> StreamingResponse:
    return StreamingResponse(b"x" * 2**16 for _ in range(1000))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[uvicorn.Server]:
    """Return a running server with the guards; its `servers` hold its socket."""
    monkeypatch.setattr(HttpToolsProtocol, "connection_made", request_limits._limit_connection)
    monkeypatch.setattr(HttpToolsProtocol, "data_received", request_limits._receive_bounded)
    app = Starlette(
        routes=[
            Route("/upload", read_body, methods=["PUT"]),
            Route("/large", send_large),
            Route("/much", send_much),
        ],
        middleware=[Middleware(request_limits.LimitBodies)],
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, http="httptools", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server
    server.force_exit = server.should_exit = True
    thread.join()


def connect(server: uvicorn.Server) -> socket.socket:
    return socket.create_connection(server.servers[0].sockets[0].getsockname(), timeout=WAIT_S)


def wait_until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_true():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.02)


def read_until_closed(client: socket.socket, drip: bytes = b"") -> bytes:
    """Return all that the server sends before it closes the connection, which gets another byte at each pause."""
    received: list[bytes] = []
    client.settimeout(0.05)

    def is_closed() -> bool:
        with suppress(OSError):
            client.sendall(drip)
        try:
            received.append(client.recv(2**16))
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return not received[-1]

    wait_until(is_closed)
    return b"".join(received)


@pytest.mark.parametrize("sent", [b"", GET + b"X-Slow: ", GET + b"\r\n" + GET + b"X-Slow: "])
def test_a_header_that_does_not_end_closes_its_connection(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(request_limits, "HEADER_S", 0.2)
    with connect(server) as client:
        client.sendall(sent)
        received = read_until_closed(client, b"x" if sent else b"")
    assert received.count(b" 404 ") == (1 if sent.count(b"GET") == 2 else 0)


@pytest.mark.parametrize(
    ("first", "piece"), [(b"GET /", b"x" * 100), (GET + b"X: ", b"x" * 100), (GET, b"a: b\r\n")]
)
def test_a_header_without_end_is_refused(server: uvicorn.Server, first: bytes, piece: bytes) -> None:
    """The body before it does not count."""
    with connect(server) as client:
        client.sendall(PUT + b"x" * 100_000)
        assert client.recv(2**16).startswith(b"HTTP/1.1 200 ")
        client.sendall(first)
        answer = read_until_closed(client, piece * 200)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"The header is too long.")


def test_many_short_headers_at_once_are_no_long_one(server: uvicorn.Server) -> None:
    count = 3000  # 120 kB
    with connect(server) as client:
        client.sendall((GET + b"\r\n") * (count - 1) + GET + b"Connection: close\r\n\r\n")
        assert read_until_closed(client).count(b"HTTP/1.1 404 ") == count


def test_a_slow_body_is_answered_408_and_its_connection_closed(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "BODY_S", 0.2)
    with connect(server) as client:
        client.sendall(PUT)
        assert read_until_closed(client, b"x").startswith(b"HTTP/1.1 408 ")


def test_the_body_of_a_request_that_was_answered_at_once_is_not_awaited(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit answers an upload of an unknown session before its body; each byte put off uvicorn's timeout."""
    monkeypatch.setattr(request_limits, "HEADER_S", 0.2)
    with connect(server) as client:
        client.sendall(PUT.replace(b"/upload", b"/none"))
        assert read_until_closed(client, b"x").startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize(
    ("arrivals", "status"),
    [
        ([(59.0, 4096), (60.5, 0)], 200),  # 4 kB are worth a second
        ([(59.0, 4096), (61.5, 0)], 408),
        ([(1.0, 10**8), (60.5, 0)], 200),
        ([(1.0, 10**8), (61.5, 0)], 408),  # and any number of them at most a minute
    ],
)
def test_bytes_that_arrive_move_a_bodys_deadline(
    monkeypatch: pytest.MonkeyPatch, arrivals: list[tuple[float, int]], status: int
) -> None:
    clock, sent = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(request_limits, "time", SimpleNamespace(monotonic=lambda: clock.now))

    async def wait(receiving: Awaitable[Message], timeout: float) -> Message:
        begun, message = clock.now, await receiving
        if clock.now - begun > timeout:
            raise TimeoutError
        return message

    monkeypatch.setattr(request_limits, "asyncio", SimpleNamespace(wait_for=wait))

    async def receive() -> Message:
        clock.now, size = arrivals.pop(0)
        return {"type": "http.request", "body": bytes(size), "more_body": bool(arrivals)}

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        size = len(await Request(scope, receive).body())
        await PlainTextResponse(str(size))(scope, receive, send)

    scope = {"type": "http", "method": "PUT", "path": "/", "headers": []}
    asyncio.run(request_limits.LimitBodies(answer)(scope, receive, send))
    assert sent[0]["status"] == status


def test_bodies_that_arrive_at_once_share_the_room_for_uploads(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_guard, "count_free_bytes", lambda: 140_000)
    half = b"x" * 50_000
    with connect(server) as slow, connect(server) as quick:
        slow.sendall(PUT + half)
        app: Any = server.config.app
        limits = app.middleware_stack.app
        wait_until(lambda: limits._arrived_bytes == 50_000)
        quick.sendall(PUT + half * 2)
        assert read_until_closed(quick).startswith(b"HTTP/1.1 413 ")
        slow.sendall(half)
        assert slow.recv(2**16).startswith(b"HTTP/1.1 200 ")
    wait_until(lambda: limits._arrived_bytes == 0)


@pytest.mark.slow
def test_an_answer_may_be_read_slowly(server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end waits in the server longer than the next request, which has begun, may take."""
    monkeypatch.setattr(request_limits, "HEADER_S", 0.5)
    with connect(server) as client:
        client.sendall(GET.replace(b"/none", b"/large") + b"\r\n" + GET + b"X-Slow: ")
        time.sleep(1.0)
        assert read_until_closed(client).endswith(bytes(2**24))


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
def test_a_client_that_reads_nothing_loses_its_connection(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "UNREAD_S", 0.5)
    with connect(server) as client:
        client.sendall(GET.replace(b"/none", b"/much") + b"\r\n")
        wait_until(lambda: server.server_state.connections)
        wait_until(lambda: not server.server_state.connections)
