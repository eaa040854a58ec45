"""Clients that send slowly, and learners that send a teacher's messages, to a real server."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.browser.conftest import serving
from tests.visitor import Visitor, run_apart

CLIENTS = 100  # of each kind
WAIT_S = (
    100.0  # on a busy machine; a server that serves nobody stays silent as long as the clients are connected
)
ROOM = "class_room"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Return the port and the runs' folder of a server."""
    folder = tmp_path_factory.mktemp("served")
    with serving(folder) as (port, _):
        yield port, folder / "runs"


async def visit(port: int) -> None:
    """Run a page in a new session."""
    user = Visitor(port)
    await user.open()
    await user.run()
    answer = await user.run("patches")
    await user.close()
    assert not answer.exceptions


def send_half_a_header(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")


def send_half_a_body(client: socket.socket) -> None:
    client.sendall(
        b"PUT /_stcore/upload_file/s/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
        b"Content-Type: multipart/form-data; boundary=cut\r\n\r\n--cut\r\n"
    )


def send_half_a_frame(client: socket.socket) -> None:
    client.sendall(
        b"GET /_stcore/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    client.recv(1000)
    client.sendall(b"\x82\xfe\xff\xff\0\0\0\0half a frame")


@pytest.mark.slow
@pytest.mark.parametrize("send", [send_half_a_header, send_half_a_body, send_half_a_frame])
def test_others_are_served_beside_clients_that_send_slowly(
    server: tuple[int, Path], send: Callable[[socket.socket], None]
) -> None:
    port, _ = server
    clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(CLIENTS)]
    try:
        for client in clients:
            send(client)
        urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=WAIT_S).close()
        run_apart(asyncio.wait_for(visit(port), WAIT_S))
    finally:
        for client in clients:
            client.close()


def test_no_message_makes_a_learner_the_teacher(server: tuple[int, Path]) -> None:
    """The ids of a page's buttons are the same in every session."""
    port, runs = server

    def read_classes() -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(f"file:{runs / 'classes.sqlite'}?mode=ro", uri=True)) as file:
            return file.execute("select code, teacher from class").fetchall()

    async def attack() -> None:
        teacher, learner = Visitor(port), Visitor(port)
        for user in (teacher, learner):
            await user.open()
            await user.run()
        await teacher.run(ROOM)
        await teacher.press("Open class")
        ((code, owner),) = read_classes()
        await teacher.run(ROOM)
        buttons = dict(teacher.buttons)
        assert "Close class now" in buttons
        for page in (ROOM, "patches"):
            await learner.run(page, f"class={code}")
            assert "Close class now" not in learner.buttons
            for name in buttons.values():
                message = BackMsg()
                learner._fill(message, f"class={code}")
                message.rerun_script.widget_states.widgets.append(WidgetState(id=name, trigger_value=True))
                await asyncio.gather(learner._ask(message), asyncio.sleep(0.05))
        # The learner's own button opens a class of the learner's.
        assert (code, owner) in read_classes()
        assert all(other != owner for number, other in read_classes() if number != code)
        await teacher.run(ROOM)
        assert "Close class now" in teacher.buttons
        for user in (teacher, learner):
            await user.close()

    run_apart(attack())
