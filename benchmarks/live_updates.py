"""Measure the live lab while users watch: first record, updates, slowdown of training and of other pages.

    python benchmarks/live_updates.py [--seconds 15] [--watchers 1,30] [--small]

In a browser, an update is a redraw of the curves with a newer record. The other users speak Streamlit's websocket
protocol and answer every poll; for them, an update is a message with new curves. A run (Digits, one thread, every step
recorded) trains while nobody, one user or many users watch; each measurement with users is between two without. Aims:
first record within 1 s on a warm worker, at least 8 updates per second in the browser and 1 for each of thirty users,
training at most 5 % slower with one user and 15 % with thirty, page runs of another page within 300 ms (95th
percentile) while two runs train. Writes benchmarks/live_updates.md; --small uses two users and writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import websockets
from playwright.async_api import Locator, async_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

EPOCHS = 195  # longer than one measurement, and just so short that every step is recorded
LOOK_S = 0.02  # between two looks at the screen
SETTLING_S = 5.0  # for the page to stand
CURVES = b"train/lab/curves.js"  # what the curves' message begins with
ANSWER_S = 120.0  # the longest that a script may take; no answer by then is an error

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.training.executor import LocalExecutor  # noqa: E402
from vitviz.training.presets import TRAINING_PRESETS  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402
from vitviz.training.run_directory import Run, RunConfig  # noqa: E402


class Visit:
    """One visitor: runs a page, then answers its polling fragments as a browser would."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.polls: list[float] = []  # seconds per fragment run
        self.updates = 0  # curves that came with something new
        self._curves = b""
        self.pages: dict[str, str] = {}
        self._page, self._query = "", ""
        self._fragments: dict[str, float] = {}  # that the page polls, with their pace

    async def open(self, page: str, query: str) -> None:
        address = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        self._socket = await websockets.connect(
            address, subprotocols=["streamlit"], max_size=None, ping_interval=None
        )
        await self.run()
        await self.run(self.pages[page], query)

    async def run(self, page_hash: str = "", query: str = "") -> float:
        """Return the seconds from asking for a page until its script has finished."""
        self._page, self._query = page_hash, query
        message = BackMsg()
        message.rerun_script.widget_states.SetInParent()
        return await self._ask(message)

    async def poll(self, fragment: str) -> float:
        """Seconds from asking for one fragment until it, and the page where it asks for that, has run again."""
        message = BackMsg()
        message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, True
        return await self._ask(message)

    async def _ask(self, message: BackMsg) -> float:
        # A fragment may run its whole page again: without page and query in the poll that would be another page,
        # this one's fragments would be gone, and Streamlit does not answer a poll of a fragment that is gone.
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.query_string = self._query
        polled: dict[str, float] = {}
        began = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await asyncio.wait_for(self._socket.recv(), ANSWER_S))
            kind = answer.WhichOneof("type")
            if kind == "navigation":
                self.pages = {
                    entry.url_pathname: entry.page_script_hash for entry in answer.navigation.app_pages
                }
            elif kind == "delta":
                self._look(answer.delta.new_element.bidi_component.bytes)
            elif kind == "auto_rerun":
                polled[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            elif kind == "script_finished":
                if answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    polled = {}  # the page runs again: it says anew what it polls
                    continue
                whole = answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                self._fragments = polled if whole else self._fragments | polled
                return time.perf_counter() - began

    def _look(self, data: bytes) -> None:
        if CURVES in data[:64] and data != self._curves:
            self._curves = data
            self.updates += 1

    async def watch(self, seconds: float) -> None:
        """Poll every fragment at its own pace."""
        self.updates = 0
        end, asked = time.perf_counter() + seconds, dict.fromkeys(self._fragments, time.perf_counter())
        while self._fragments and time.perf_counter() < end:
            due = {
                name: asked.setdefault(name, time.perf_counter()) + pace
                for name, pace in self._fragments.items()
            }
            fragment = min(due, key=due.__getitem__)
            await asyncio.sleep(max(0.0, min(due[fragment], end) - time.perf_counter()))
            if time.perf_counter() < end:
                self.polls.append(await self.poll(fragment))
            asked[fragment] = time.perf_counter()

    async def close(self) -> None:
        await self._socket.close()


@contextmanager
def server(runs: Path) -> Iterator[int]:
    """Start the app on a free port and stop it at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "VITVIZ_RUNS": str(runs)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                break
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def config(seed: int) -> RunConfig:
    """Digits with the lab's own recipe, longer than any measurement."""
    preset = TRAINING_PRESETS["digits_live"]
    train = replace(preset.train, epochs=EPOCHS, seed=seed, threads=1)
    # Two owners: one visitor cannot take every place.
    return RunConfig(preset.model, preset.preparation, train, f"benchmark {seed}", owner=f"visitor {seed}")


def seen(run: Run) -> int:
    records = [record for record in run.records()[0] if record["kind"] == "step"]
    return int(records[-1]["seen"]) if records else 0


def first_record_s(executor: LocalExecutor, seed: int) -> tuple[Run, float]:
    """Start a run on a warm worker; seconds until its first record can be read."""
    while not executor.ready():
        time.sleep(0.05)
    began = time.perf_counter()
    run = executor.start(config(seed))
    while not seen(run):
        time.sleep(0.005)
    return run, time.perf_counter() - began


@dataclass(frozen=True)
class Watched:
    """A run while some watch."""

    speed: float  # pictures a second
    polls: list[float]  # seconds of each
    updates: list[float]  # a second, of each visit


async def watched(port: int, run: Run, visitors: int, seconds: float) -> Watched:
    """Return the run's speed, the polls and what came of them, while so many watch."""
    visits = [Visit(port) for _ in range(visitors)]
    for visit in visits:
        await visit.open("live_lab", f"live_lab.run={run.id}")
    await asyncio.sleep(1.0)
    before, began = seen(run), time.perf_counter()
    await asyncio.gather(asyncio.sleep(seconds), *(visit.watch(seconds) for visit in visits))
    took = time.perf_counter() - began
    speed = (seen(run) - before) / took
    for visit in visits:
        await visit.close()
    if not run.status().active:
        raise RuntimeError(f"the watched run ended ({run.status().state}) before the measurement did")
    polls = [poll for visit in visits for poll in visit.polls]
    return Watched(speed, polls, [visit.updates / took for visit in visits])


async def updates_seen(port: int, run: Run, seconds: float) -> float:
    """Return how often a second the curves show newer values, in a real browser: their spoken summary ends in them."""
    path = os.environ.get("VITVIZ_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 1400, "height": 900})
        await page.goto(f"http://127.0.0.1:{port}/live_lab?live_lab.run={run.id}")
        curves = page.locator(".curves-canvas")
        await curves.wait_for(timeout=60_000)
        await asyncio.sleep(SETTLING_S)  # the first paint is another measurement
        last, updates, began = await curves.get_attribute("aria-label"), 0, time.perf_counter()
        while (left := began + seconds - time.perf_counter()) > 0:
            now = await newer(curves, last, left)
            updates += now != last
            last = now
        await browser.close()
    return updates / seconds


async def newer(curves: Locator, last: str | None, seconds: float) -> str | None:
    """Return the curves' summary once it differs from `last`, or as it is after so many seconds."""
    end = time.perf_counter() + seconds
    while True:
        now = await curves.get_attribute("aria-label")
        if now != last or time.perf_counter() > end:
            return now
        await asyncio.sleep(LOOK_S)


async def other_page(port: int, seconds: float) -> list[float]:
    """Return the seconds per run of another page, one after another."""
    visit = Visit(port)
    await visit.open("patches", "")
    end, times = time.perf_counter() + seconds, []
    while time.perf_counter() < end:
        times.append(await visit.run(visit.pages["patches"]))
        await asyncio.sleep(0.2)
    await visit.close()
    return times


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--watchers", default="1,30")
    parser.add_argument("--small", action="store_true", help="two users, two seconds; writes nothing")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.seconds, arguments.watchers = 2.0, "2"
    counts = [int(n) for n in arguments.watchers.split(",")]
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as port:
        rows = measure(Path(folder), port, counts, arguments.seconds)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    text = "\n".join(
        [
            "# The live lab with watching users",
            "",
            f"`python benchmarks/live_updates.py`, {date.today().isoformat()}, {os.cpu_count()} cores,"
            f" {processor()}, Python {platform.python_version()}, load {load} at the end;"
            f" {arguments.seconds:g} s per measurement, server, trainer, browser and users on the same cores.",
            "",
            "| quantity | measured | aim |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )
    if not arguments.small:
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


def measure(folder: Path, port: int, watchers: list[int], seconds: float) -> list[str]:
    """Return the rows of the table."""
    executor = LocalExecutor(folder, slots=2)
    try:
        run, first = first_record_s(executor, 0)
        rows = [f"| first record after the start, warm worker | {first:.2f} s | ≤ 1 s |"]
        asyncio.run(watched(port, run, 1, 2.0))  # the server loads its libraries once
        end(executor, run)
        for number, count in enumerate(watchers, 1):
            run, _ = first_record_s(executor, number)
            rows += rows_of(port, run, count, seconds)
            end(executor, run)
        run, _ = first_record_s(executor, 0)
        rate = asyncio.run(updates_seen(port, run, seconds))
        rows.append(f"| updates of the curves in a browser | {rate:.1f} per second | ≥ 8 |")
        first_record_s(executor, 1)
        times = asyncio.run(other_page(port, seconds))
        rows.append(f"| page run of another page while two runs train | {spread(times)} | p95 ≤ 300 ms |")
        return rows
    finally:
        executor.close()


def end(executor: LocalExecutor, run: Run) -> None:
    """Stop a run, and wait until its place is free."""
    executor.stop(run)
    while executor.running():
        time.sleep(0.05)


def rows_of(port: int, run: Run, count: int, seconds: float) -> list[str]:
    """Return what so many watchers cost a run, and what they see of it."""
    before, found, after = (asyncio.run(watched(port, run, some, seconds)) for some in (0, count, 0))
    speed, base = found.speed, statistics.mean((before.speed, after.speed))
    slower = f"{100 * (1 - speed / base):.1f} %" if base else "unknown: no record in this time"
    polls = spread(found.polls) if found.polls else "none"
    return [
        f"| slowdown of training, {count} watching | {slower} ({speed:,.0f} instead of {base:,.0f} images/s)"
        f" | {({1: '≤ 5 %', 30: '≤ 15 %'}).get(count, '')} |",
        f"| one poll, {count} watching | {polls} | |",
        f"| new curves per user, {count} watching | {statistics.median(found.updates):.1f} per second (median),"
        f" {min(found.updates):.1f} (slowest) | {'≥ 1' if count == 30 else ''} |",
    ]


def spread(seconds: list[float]) -> str:
    """Median and 95th percentile, in words."""
    return f"{1000 * statistics.median(seconds):.0f} ms, p95 {1000 * p95(seconds):.0f} ms"


if __name__ == "__main__":
    main()
