"""The live lab under watch: first record, updates per second, what watching costs the training, and other pages.

    python benchmarks/live_updates.py [--seconds 20] [--watchers 0,1,30] [--out benchmarks/live_updates.md]

Visits speak Streamlit's own websocket protocol, without a browser, and answer every fragment that polls. The same
run (digits, one thread) trains while nobody, one visit and many watch, in turns; its speed is pictures seen over the
clock. Aims: first record within 1 s on a warm worker, at least 4 updates a second, training at most 5 % slower under
one visit and 15 % under thirty, another page's run within 300 ms (95th percentile) while two runs train.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.training.executor import LocalExecutor  # noqa: E402
from vitviz.training.presets import TRAINING_PRESETS  # noqa: E402
from vitviz.training.runs import Run, RunConfig  # noqa: E402


class Visit:
    """One visitor: runs a page, then answers its polling fragments as a browser would."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.polls: list[float] = []  # seconds per fragment run
        self.pages: dict[str, str] = {}
        self._fragments: dict[str, float] = {}

    async def open(self, page: str, query: str) -> None:
        address = f"ws://127.0.0.1:{self.port}/_stcore/stream"
        self._socket = await websockets.connect(
            address, subprotocols=["streamlit"], max_size=None, ping_interval=None
        )
        await self.run()
        await self.run(self.pages[page], query)

    async def run(self, page_hash: str = "", query: str = "", fragment: str = "") -> float:
        """Seconds from asking for a run of the script, or of one fragment, until it has finished."""
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_script_hash = page_hash
        if fragment:
            message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, True
        else:
            message.rerun_script.widget_states.SetInParent()
            self._fragments = {}
        began = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await asyncio.wait_for(self._socket.recv(), 120))
            kind = answer.WhichOneof("type")
            if kind == "navigation":
                self.pages = {
                    entry.url_pathname: entry.page_script_hash for entry in answer.navigation.app_pages
                }
            elif kind == "auto_rerun":
                self._fragments[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            elif kind == "script_finished":
                return time.perf_counter() - began

    async def watch(self, seconds: float) -> None:
        """Poll every fragment at its own pace."""
        end = time.perf_counter() + seconds
        due = {fragment: time.perf_counter() + pace for fragment, pace in self._fragments.items()}
        while due and time.perf_counter() < end:
            fragment = min(due, key=due.__getitem__)
            await asyncio.sleep(max(0.0, due[fragment] - time.perf_counter()))
            self.polls.append(await self.run(fragment=fragment))
            due[fragment] = max(due[fragment], time.perf_counter()) + self._fragments[fragment]

    async def close(self) -> None:
        await self._socket.close()

    @property
    def fastest_s(self) -> float:
        """The shortest interval at which this page polls."""
        return min(self._fragments.values(), default=float("nan"))


@contextmanager
def server(runs: Path) -> Iterator[int]:
    """The app on a free port; ended at the end."""
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
    """Digits with the lab's own recipe, far longer than any measurement."""
    preset = TRAINING_PRESETS["digits_live"]
    train = replace(preset.train, epochs=5000, seed=seed, threads=1)
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


async def watched(port: int, run: Run, visitors: int, seconds: float) -> tuple[float, list[Visit]]:
    """(pictures per second, the visits) while so many watch."""
    visits = [Visit(port) for _ in range(visitors)]
    for visit in visits:
        await visit.open("live_lab", f"live_lab.run={run.id}")
    before, began = seen(run), time.perf_counter()
    await asyncio.gather(asyncio.sleep(seconds), *(visit.watch(seconds) for visit in visits))
    speed = (seen(run) - before) / (time.perf_counter() - began)
    for visit in visits:
        await visit.close()
    return speed, visits


async def other_page(port: int, seconds: float) -> list[float]:
    """Seconds per run of another page, one after another."""
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
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--watchers", default="0,1,30,0")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as port:
        lines = measure(
            Path(folder), port, [int(n) for n in arguments.watchers.split(",")], arguments.seconds
        )
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text)


def measure(folder: Path, port: int, watchers: list[int], seconds: float) -> list[str]:
    """The table, as lines of Markdown."""
    executor = LocalExecutor(folder, slots=2)
    try:
        run, first = first_record_s(executor, 0)
        lines = [
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; {seconds:g} s each.",
            "",
            "| what | value |",
            "|---|---|",
            f"| first record after the start, warm worker | {first:.2f} s |",
        ]
        for count in watchers:
            speed, visits = asyncio.run(watched(port, run, count, seconds))
            lines.append(f"| training, {count} watching | {speed:,.0f} pictures/s |")
            polls = [poll for visit in visits for poll in visit.polls]
            if polls:
                rate = min(1 / visits[0].fastest_s, len(polls) / len(visits) / seconds)
                words = (
                    f"{1000 * statistics.median(polls):.0f} ms, 95th percentile {1000 * p95(polls):.0f} ms"
                )
                lines.append(f"| one poll, {count} watching | {words}; at least {rate:.1f} updates/s each |")
        second, _ = first_record_s(executor, 1)
        times = asyncio.run(other_page(port, seconds))
        words = f"{1000 * statistics.median(times):.0f} ms, 95th percentile {1000 * p95(times):.0f} ms"
        lines.append(f"| another page's run while two runs train | {words} |")
        for started in (run, second):
            executor.stop(started)
        return lines
    finally:
        executor.close()


if __name__ == "__main__":
    main()
