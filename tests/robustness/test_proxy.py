"""Two processes of the app behind the operator's own HAProxy: sessions stay with theirs, and come back when it dies."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from streamlit.util import calc_hash
from websockets.exceptions import ConnectionClosed, WebSocketException

from benchmarks.class_of_hundred import Visitor as ClassVisitor
from pages.stores.session import UserSession as Token
from pages.stores.session_cookie import COOKIE, sign_token
from tests.browser.conftest import free_port, start_server, stop_server
from tests.cluster import Cluster
from tests.proxy import needs_haproxy, start_proxy
from tests.robustness.run_files import GREY, MODEL, TRAIN
from tests.visitor import Visitor, run_apart
from vitviz.classes.database import NAME
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

pytestmark = needs_haproxy
VISITORS = 60
LEARNERS = 30
TRAINER_S = 280.0  # a new trainer yields to all else: at a load of 27 it loaded for over 200 s
RESTART_S = 120.0  # a class that is not served by then is never served
DASK, HERE = "on a cluster", "in their own workers"  # where runs train
LONG = "live_lab.length=2000"  # epochs: longer than the test
PAGE = "words"  # light: the test is about who answers
LENS = "patches"  # has a sidebar


@dataclass
class Behind:
    """What stands behind the proxy: its port, the runs' folder, and the processes by their names in its cookie."""

    port: int
    runs: Path
    servers: dict[str, subprocess.Popen[bytes]]
    ports: dict[str, int] = field(default_factory=dict)

    def restart(self, name: str) -> None:
        """Start a process that was stopped; return when the proxy sends users to it."""
        log, settings = self.runs.with_name(f"{name}.log"), {"VITVIZ_RUNS": str(self.runs)}
        self.servers[name] = start_server("app.py", self.ports[name], log, settings)
        while f"visits/{name} is UP" not in self.runs.with_name("proxy.log").read_text():
            time.sleep(0.1)


@pytest.fixture
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Behind]:
    """HAProxy before two processes; with the parameter `DASK` their runs train on a cluster of two workers."""
    cluster = Cluster(tmp_path) if getattr(request, "param", "") == DASK else None
    runs, servers, ports = tmp_path / "runs", {}, {name: free_port() for name in "ab"}
    runs.mkdir()
    proxy, given = None, {"VITVIZ_RUNS": str(runs)}
    try:
        if cluster is not None:
            given["VITVIZ_DASK"] = cluster.address
            for _ in range(2):
                cluster.add_worker()
        for name, port in ports.items():
            servers[name] = start_server("app.py", port, tmp_path / f"{name}.log", given)
        found = Behind(free_port(), runs, servers, ports)
        proxy = start_proxy(found.port, ports["a"], ports["b"], tmp_path / "proxy.log")
        yield found
    finally:
        for one in filter(None, (proxy, *servers.values())):
            stop_server(one)
        if cluster is not None:
            cluster.close()


def status(port: int, path: str, method: str = "GET", **headers: str) -> int:
    """What the proxy answers to a request with no body, whatever its headers (`Content_Length`) say."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


class Sticky(Visitor):
    """A user as a browser is one: asks for the page first, and keeps the cookies that it gets."""

    def __init__(self, behind: Behind) -> None:
        super().__init__(behind.port)
        self.token = secrets.token_urlsafe(16)
        self._signed = sign_token(self.token, behind.runs)
        self.server = ""

    async def arrive(self) -> None:
        """Opens the app, or opens it again with the cookies of before."""
        self.server = await asyncio.to_thread(self._stays_with)
        self._cookies = f"{COOKIE}={self._signed}; vitviz_server={self.server}"
        await self.open()
        self.page = ""
        assert not (await self.run()).exceptions

    def _stays_with(self) -> str:
        cookies = f"{COOKIE}={self._signed}" + (f"; vitviz_server={self.server}" if self.server else "")
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/", headers={"Cookie": cookies})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            given = answer.headers.get("Set-Cookie", "")
        name, _, value = given.partition(";")[0].partition("=")
        return value if name == "vitviz_server" else self.server

    async def models(self) -> list[str]:
        """What the sidebar's list of models offers, sent anew."""
        self._held.clear()
        return (await self.run(LENS)).options


def trained(root: Path, owner: str) -> Run:
    """A finished run of a session."""
    made = Run.create(root, RunConfig(MODEL, GREY, TRAIN, name="Mine alone", owner=Token(owner).owner))
    assert Session(made, device="cpu").perform().state == "done"
    return made


async def start_run(user: Sticky, runs: Path) -> Run:
    """A user starts the lab's first recipe, as by a click; waits until it trains."""
    before = set(runs.glob("*/config.json"))
    assert not (await user.run("live_lab", LONG)).exceptions
    assert not (await user.press("Start training", LONG)).exceptions
    (made,) = set(runs.glob("*/config.json")) - before
    await goes_on(run := Run(made.parent))
    return run


async def goes_on(run: Run) -> None:
    """Until a run has made another step."""
    step, end = run.status().step, time.monotonic() + TRAINER_S
    while run.status().step == step:
        assert time.monotonic() < end, f"the run stands still: {run.status()}"
        await asyncio.sleep(0.1)


async def is_interrupted(run: Run) -> None:
    """Until the heartbeat of a killed process has been missed."""
    end = time.monotonic() + 120
    while run.status().state == "running":
        assert time.monotonic() < end, f"nobody trains the run: {run.status()}"
        await asyncio.sleep(0.1)
    assert run.status().state == "interrupted"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("behind", [HERE, DASK], indirect=True)
def test_a_process_that_dies_costs_its_users_nothing_and_the_others_do_not_notice(
    behind: Behind, record_property: pytest.RecordProperty, request: pytest.FixtureRequest
) -> None:
    """Sixty users on two processes; one process is killed: its users are with the other, with their runs.

    What a cluster trains goes on; what the dead process trained itself can be resumed.
    """

    on_cluster = request.node.callspec.params["behind"] == DASK

    async def visit() -> None:
        users = [Sticky(behind) for _ in range(VISITORS)]
        trained(behind.runs, users[0].token)
        for user in users:
            await user.arrive()
        of = {name: [one for one in users if one.server == name] for name in behind.servers}
        assert all(len(some) >= VISITORS // 4 for some in of.values())
        dying = users[0].server
        lost, staying = of[dying], next(some for name, some in of.items() if name != dying)
        sessions = [one.session for one in staying]
        assert any("Mine alone" in title for title in await users[0].models())
        under_way = [await start_run(one, behind.runs) for one in (lost[0], staying[0])]

        behind.servers[dying].kill()
        began = time.monotonic()
        for one in lost:
            with pytest.raises(ConnectionClosed):  # as a browser is told, which then connects again
                await one.run()
        await asyncio.gather(*(one.arrive() for one in lost))
        record_property("seconds until all were back", round(time.monotonic() - began, 1))

        assert {one.server for one in lost} == {name for name in of if name != dying}
        assert any("Mine alone" in title for title in await users[0].models())
        assert not any("Mine alone" in title for title in await lost[1].models())
        for one in staying:
            assert not (await one.run(PAGE)).exceptions
        mine, other = under_way
        await goes_on(other)
        if on_cluster:
            await goes_on(mine)
            assert any(mine.config().name in title for title in await lost[0].models())
        else:
            await is_interrupted(mine)
        assert [one.session for one in staying] == sessions  # not one of them had to connect again
        for one in users:
            await one.close()

    run_apart(visit())


async def stay_connected(user: ClassVisitor, slug: str, code: str) -> None:
    """Open a page of a class, again and again where no process answers, as a browser does."""
    end = time.monotonic() + RESTART_S
    while True:
        try:
            await user.open(slug, **{"class": code})
            return
        except (WebSocketException, OSError):
            assert time.monotonic() < end, "no process answers"
            await asyncio.sleep(0.5)


async def follow(learner: ClassVisitor, code: str, until: asyncio.Event) -> None:
    """Poll as a learner's page does, and connect again when its process has ended."""
    while not until.is_set():
        fragment, interval = next(iter(learner.fragments.items()))
        await asyncio.sleep(interval)
        try:
            await learner.poll(fragment)
        except (WebSocketException, OSError):
            await stay_connected(learner, "class_room", code)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_class_follows_its_teacher_while_one_process_after_the_other_is_restarted(
    behind: Behind, record_property: pytest.RecordProperty
) -> None:
    """The teacher shows the next page as soon as a process has stopped, also the teacher's own; no page fails."""

    async def teach() -> None:
        address = f"ws://127.0.0.1:{behind.port}/_stcore/stream"
        token = sign_token(secrets.token_urlsafe(16), behind.runs)
        teacher = ClassVisitor(address, f"{COOKIE}={token}")
        await teacher.open("class_room")
        await teacher.press("Open class")
        with closing(sqlite3.connect(behind.runs / NAME)) as file:
            ((code,),) = file.execute("SELECT code FROM class").fetchall()
        learners, over = [ClassVisitor(address) for _ in range(LEARNERS)], asyncio.Event()
        for learner in learners:
            await learner.open("class_room", **{"class": code})
        tasks = [asyncio.create_task(follow(learner, code, over)) for learner in learners]

        async def show(slug: str) -> float:
            """Return the seconds until all learners have the page."""
            began, page = time.monotonic(), calc_hash(slug)
            try:
                await teacher.go(slug, **{"class": code})
            except (WebSocketException, OSError):
                await stay_connected(teacher, slug, code)
            while not all(learner.page == page and page in learner.ended for learner in learners):
                assert time.monotonic() - began < RESTART_S, f"not all learners are at {slug}"
                assert not [task.exception() for task in tasks if task.done()]
                await asyncio.sleep(0.05)
            return round(time.monotonic() - began, 1)

        waits = [await show(PAGE)]
        for name, slug, later in (("a", "patches", "layers"), ("b", "positions", "filters")):
            stop_server(behind.servers[name])
            restart = asyncio.create_task(asyncio.to_thread(behind.restart, name))
            waits += [await show(slug), await show(later)]
            await restart
        record_property("seconds until all thirty had each page", waits)
        over.set()
        await asyncio.gather(*tasks)
        for user in (teacher, *learners):
            await user.close()

    run_apart(teach())


class Echo(BaseHTTPRequestHandler):
    """Answer every request with the addresses that the app would see, whatever its path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(", ".join(self.headers.get_all("X-Forwarded-For", [])).encode())

    do_PUT = do_GET

    def log_message(self, *_: object) -> None: ...


class Busy(Echo):
    """Answer health checks late, as a process whose pages compute does."""

    checks: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        if self.path.endswith("/health"):
            self.checks.append(self.path)
            time.sleep(2)
        super().do_GET()


@pytest.mark.slow
def test_a_process_that_is_busy_for_seconds_is_not_taken_for_dead(tmp_path: Path) -> None:
    app = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=app.serve_forever, daemon=True).start()
    port = free_port()
    proxy = start_proxy(port, app.server_port, app.server_port, tmp_path / "proxy.log", "/vitviz")
    try:
        while len(Busy.checks) < 8:  # four of each server
            assert status(port, "/vitviz/") == 200
            time.sleep(0.1)
        assert "DOWN" not in (tmp_path / "proxy.log").read_text()
    finally:
        stop_server(proxy)
        app.shutdown()
        app.server_close()


@pytest.fixture
def proxy_port(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """The port of a proxy for the base path /vitviz; a parameter is the operator's settings."""
    app = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=app.serve_forever, daemon=True).start()
    port, settings = free_port(), getattr(request, "param", {})
    proxy = start_proxy(port, app.server_port, app.server_port, tmp_path / "proxy.log", "/vitviz", **settings)
    yield port
    stop_server(proxy)
    app.shutdown()
    app.server_close()


@pytest.mark.parametrize(
    "path",
    [
        "/vitviz/_stcore/metrics",
        "/vitviz/_stcore/metric%73",
        "/vitviz%2F%5fstcore%2fmetrics",
        "/vitviz/_stcore/metrics?format=%zz",
    ],
)
def test_the_metrics_are_hidden_however_their_path_is_encoded(proxy_port: int, path: str) -> None:
    assert status(proxy_port, path) == 404
    assert status(proxy_port, "/vitviz/_stcore/health") == 200


@pytest.mark.parametrize(
    "path", ["/vitviz/_stcore/metrics%", "/vitviz/%zz", "/vitviz/%5fstcore/upload_file/s/%f"]
)
def test_a_path_that_cannot_be_decoded_is_refused(proxy_port: int, path: str) -> None:
    """The app would take it for the rest of a name; no rule of the proxy matches it."""
    assert status(proxy_port, path) == 400


@pytest.mark.parametrize("path", ["_stcore/upload_file/s/f", "%5Fstcore/upload%5ffile%2Fs/f"])
def test_uploads_are_bounded_however_their_path_is_encoded(proxy_port: int, path: str) -> None:
    upload = f"/vitviz/{path}"
    assert status(proxy_port, upload, "PUT", Content_Length=str(200 * 2**20)) == 413
    assert status(proxy_port, upload, "PUT", Content_Length=str(2**32 + 5)) == 413  # 5 in 32 bits
    assert status(proxy_port, upload, "PUT", Transfer_Encoding="chunked") == 413  # no length to bound
    answers = [status(proxy_port, upload, "PUT", Content_Length="0") for _ in range(62)]
    assert (answers[0], answers[-1]) == (200, 429)


def test_headers_are_bounded(proxy_port: int) -> None:
    """An address of the app has less than 2 kB, a session's cookies less than 1 kB."""
    assert status(proxy_port, f"/vitviz/?{'q' * 8000}", Cookie="c" * 4000) == 200
    assert status(proxy_port, "/vitviz/", Cookie="c" * 16_000) == 400
    assert status(proxy_port, f"/vitviz/?{'q' * 16_000}") == 400
    assert status(proxy_port, "/vitviz/", **{f"X_{number}": "" for number in range(200)}) == 400


@pytest.mark.parametrize(
    ("proxy_port", "ancestors"),
    [
        ({}, "'self'"),
        (
            {"VITVIZ_FRAME_ANCESTORS": "'self' https://moodle.example.org"},
            "'self' https://moodle.example.org",
        ),
    ],
    indirect=["proxy_port"],
)
def test_only_the_operator_s_sites_may_embed_the_app(proxy_port: int, ancestors: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{proxy_port}/vitviz/", timeout=60) as answer:
        policy = dict(
            part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert policy["frame-ancestors"] == ancestors
    assert policy["default-src"] == "'self'" and policy["worker-src"] == "'self' blob:"
    assert not {"'unsafe-eval'", "'unsafe-inline'", "https:", "*"} & set(policy["script-src"].split())


def test_no_user_invents_an_address(proxy_port: int) -> None:
    """One `X-Forwarded-For` per guess evaded the limit of wrong codes behind a proxy that passes it on."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{proxy_port}/vitviz/", headers={"X-Forwarded-For": "192.0.2.7"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.read() == b"127.0.0.1"
