"""A server that may open 256 files serves any number of sessions one after the other, and says when it cannot."""

from __future__ import annotations

import asyncio
import resource
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from tests.browser.conftest import serving
from tests.robustness.fuzz.sockets import open_socket
from tests.visitor import Visitor, run_apart

FILES = 256
SESSIONS = 2000
AT_ONCE = 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Return the port and the process of a server with a low limit on open files, which it raises to 256."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving(tmp_path_factory.mktemp("files"), VITVIZ_AHEAD="0") as (port, started):
        resource.prlimit(started.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        yield port, started.pid
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def health(port: int) -> int:
    """Return the status of the health check, or 0 if the server does not answer within two seconds."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for_health(port: int) -> None:
    end = time.monotonic() + 120
    while health(port) != 200:
        assert time.monotonic() < end, "the server does not recover"
        time.sleep(0.2)


def count_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def run_page(port: int) -> None:
    """Open a session, run the start page, and leave."""
    user = Visitor(port)
    await user.open()
    assert not (await user.run()).exceptions
    await user.close()


def test_the_limit_on_open_files_is_raised_at_the_start(server: tuple[int, int]) -> None:
    """`start_server` inherits this process's limits, whose soft one may be low."""
    from pages.streamlit_fixes.required import session_capacity

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, FILES), hard))
    try:
        session_capacity.install()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_two_thousand_sessions_are_opened_and_closed(server: tuple[int, int]) -> None:
    """The 80th was refused, since each session held three descriptors for two minutes after its end."""
    port, pid = server

    async def open_and_close() -> None:
        await run_page(port)
        for _ in range(SESSIONS // AT_ONCE):
            opened = await asyncio.gather(*(open_socket(port) for _ in range(AT_ONCE)))
            await asyncio.gather(*(socket.close() for socket in opened))
        await run_page(port)

    run_apart(open_and_close())
    wait_for_health(port)
    assert count_files(pid) < FILES / 2


def test_health_fails_while_no_session_can_be_opened(server: tuple[int, int]) -> None:
    """It answered 200 while every session was refused."""
    port, pid = server

    async def fill() -> int:
        opened = []
        for _ in range(5):  # a busy server may refuse one before it is full
            with suppress(OSError, TimeoutError, WebSocketException):
                while count_files(pid) < FILES - 2:
                    opened.append(await asyncio.wait_for(open_socket(port), 20))
        status = await asyncio.to_thread(health, port)
        for socket in opened:
            socket.transport.abort()
        return status

    assert run_apart(fill()) in (0, 503)
    wait_for_health(port)
    run_apart(run_page(port))
