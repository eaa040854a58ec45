"""Ten websockets that send all they can do not keep a real server from answering others."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from pages.streamlit_fixes.required.websocket_limits import MESSAGE_BYTES, TOO_LARGE
from tests.robustness.fuzz import sockets
from tests.visitor import Visitor, run_apart

SILENCE_S = sockets.LONGEST_SILENCE_S
KINDS = ("rerun", "rerun of a fragment", "app_heartbeat", "file_urls_request", "garbage")  # all: fuzz sockets


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Callable[[], float]]]:
    with sockets.server(tmp_path_factory.mktemp("flooded")) as server:
        yield server


@pytest.fixture
def port(server: tuple[int, Callable[[], float]]) -> int:
    return server[0]


@pytest.mark.parametrize("kind", KINDS)
def test_ten_sockets_do_not_silence_the_server(server: tuple[int, Callable[[], float]], kind: str) -> None:
    """5,000 reruns on one socket did for 13 to 23 s."""
    seen = sockets.flood(server[0], sockets.messages()[kind], server[1])
    assert seen.silence_s <= SILENCE_S, seen
    assert sum(seen.closed.values()) == sockets.SOCKETS, seen
    assert all(why.startswith("1002" if kind == "garbage" else "1008 'Too many") for why in seen.closed), seen


@pytest.mark.slow
def test_a_quick_user_is_not_closed(port: int) -> None:
    """30 reruns per second for three seconds, as a drag sends them, beside 10 polls per second."""

    async def drag() -> None:
        user = Visitor(port)
        await user.open()
        await user.run()
        for tick in range(90):
            await user._socket.send(sockets.messages()["rerun"])
            if tick % 3 == 0:
                await user._socket.send(sockets.messages()["rerun of a fragment"])
            await asyncio.sleep(1 / 30)
        await asyncio.wait_for(user.run(), 60)
        await user.close()

    run_apart(drag())


def test_a_message_larger_than_a_piece_arrives_whole(port: int) -> None:
    """uvicorn is given large chunks in pieces."""

    async def ask() -> None:
        user = Visitor(port)
        await user.open()
        await user.run()
        answer = await user.run(query="x=" + "y" * 300_000)
        assert answer.exceptions == [] and answer.size > 1000
        await user.close()

    run_apart(ask())


def test_a_message_that_is_too_large_is_refused_before_it_arrives(port: int) -> None:
    """The server would hold what arrives: ten unfinished messages of 60 MB took 700 MB."""
    header = b"\x82\xff" + struct.pack("!Q", MESSAGE_BYTES + 1) + bytes(4)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(
            b"GET /_stcore/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 101 " in client.recv(1000)
        client.sendall(header)
        answer = b""
        while piece := client.recv(1000):
            answer += piece
    assert struct.pack("!H", TOO_LARGE) in answer
