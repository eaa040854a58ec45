"""Measure response times, memory and bytes of a class on one or two server processes.

    python benchmarks/classroom.py [--visitors 30] [--seconds 40] [--think 1] [--processes 1] [--training 0]
        [--after 300]
    python benchmarks/classroom.py --runs 50000
    python benchmarks/classroom.py --hands-on [--visitors 30] [--think 3]
    python benchmarks/classroom.py --small [--hands-on]

Users speak Streamlit's websocket protocol without a browser. Each goes to random pages, with one click per `--think`
seconds on average, and answers polls. One user first opens all pages twice, so that caches are warm and memory is that
of a warm server. With --processes 2 each user stays on one process, as behind a proxy. --training runs train on Digits
with one thread each; their speed is compared with that before the class. Memory excludes trainers. Aims: median 150 ms
and 95th percentile 700 ms (two processes: 400 ms; with runs: 1 s); one run keeps 85 % of its speed, two keep 50 %; 5 MB
per user; memory within 15 % of the start --after seconds after the end; 60 KB per page run, 25 KB per page switch. With
--runs the users leave and come back without a pause, and memory is printed every thousand page runs. Prints a row for
benchmarks/classroom.md.

With --hands-on each user is a learner of a class who trains a model for its challenge, draws on Start, uploads a photo
and opens pages, until the last training has ended or for --seconds. Processor time is the server's between a click and
its answer, for all users. Aim: a 95th percentile of 700 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import psutil
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pages.classroom.challenge_board import CHALLENGE_QUERY  # noqa: E402
from tests.browser.conftest import free_port, start_server, stop_server  # noqa: E402
from tests.strokes import encode_strokes  # noqa: E402
from tests.visitor import Answer, Visitor  # noqa: E402
from vitviz.classes import challenge  # noqa: E402
from vitviz.classes.class_store import ClassStore  # noqa: E402
from vitviz.classes.database import NAME  # noqa: E402
from vitviz.data.samples import load_sample, sample_names  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402
from vitviz.training.run_directory import ENDED, Run  # noqa: E402

WARM_S = 8.0  # after the first visit: the libraries are loaded behind it
SPEED_S = 10.0  # of training alone
PHOTO_PX = (4000, 3000)  # of a phone


@dataclass
class Seen:
    """What the visitors saw."""

    runs: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))  # by page
    polls: list[Answer] = field(default_factory=list)
    turned: list[Answer] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    actions: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))  # of a class, by name

    @property
    def pages(self) -> list[Answer]:
        """Every run of a page but the first of a visit."""
        return [answer for name, answers in self.runs.items() if name for answer in answers]


async def stay(visitor: Visitor, until: float, think: float, seen: Seen) -> None:
    """Simulate a session: random pages, and each polling fragment at its own interval."""
    try:
        await visitor.open()
        seen.runs[""].append(await visitor.run())
        while time.monotonic() < until:
            await rest(visitor, think, seen)
            await open_a_page(visitor, seen)
        await visitor.close()
    except Exception as error:  # a broken visit is a finding
        seen.broken.append(f"{type(error).__name__}: {error}"[:160])


async def rest(visitor: Visitor, think: float, seen: Seen) -> None:
    """Wait for the next click; the page polls meanwhile."""
    leave = time.monotonic() + random.expovariate(1 / think)
    while visitor.fragments and time.monotonic() < leave:
        fragment, pace = random.choice(list(visitor.fragments.items()))
        await asyncio.sleep(max(0.0, min(pace, leave - time.monotonic())))
        seen.polls.append(await visitor.poll(fragment))
    await asyncio.sleep(max(0.0, leave - time.monotonic()))


async def open_a_page(visitor: Visitor, seen: Seen) -> None:
    name = random.choice(list(visitor.pages))
    seen.runs[name].append(await visitor.run(name))


def photograph() -> bytes:
    """Return a photo of the size of a phone's, as JPEG."""
    file = io.BytesIO()
    Image.fromarray(load_sample(sample_names()[0])).resize(PHOTO_PX).save(file, "JPEG", quality=90)
    return file.getvalue()


async def learn(
    visitor: Visitor, code: str, photo: bytes, over: asyncio.Event, think: float, seen: Seen
) -> None:
    """Simulate a learner: join, train for the challenge, then draw, upload a photo and read until it is over."""

    async def act(name: str, answer: Awaitable[Answer]) -> None:
        seen.actions[name].append(await answer)
        await rest(visitor, think, seen)

    try:
        await visitor.open()
        seen.runs[""].append(await visitor.run())
        await act("join", visitor.run("class_room", urlencode({"class": code})))
        await act("open the lab", visitor.run("live_lab", urlencode(CHALLENGE_QUERY)))
        await act("train", visitor.press("Train for the class", urlencode(CHALLENGE_QUERY)))
        while not over.is_set():
            await act("open Start", visitor.run("home"))
            for strokes in (1, 2, 3, 4):
                drawing = encode_strokes([np.random.randint(60, 450, (8, 2)) for _ in range(strokes)])
                await act("stroke", visitor.trigger("home.map", "draw", drawing))
            await act("open the uploader", visitor.trigger("home.map", "show", "upload"))
            uploader = max(key for key in visitor.views if key.startswith("home.upload"))
            await act("upload", visitor.upload(uploader, "photo.jpg", photo))
            for _ in range(3):
                await open_a_page(visitor, seen)
                await rest(visitor, think, seen)
            await act("open the challenge", visitor.run("class_room"))
        await visitor.close()
    except Exception as error:  # a broken visit is a finding
        seen.broken.append(f"{type(error).__name__}: {error}"[:160])


async def alone(port: int, rounds: int) -> Seen:
    """Return one visitor goes through all pages; on the last round every switch of a page is turned once."""
    seen, visitor = Seen(), Visitor(port)
    await visitor.open()
    await visitor.run()
    await asyncio.sleep(WARM_S)
    for turn in range(rounds):
        seen.runs.clear()
        for name in visitor.pages:
            seen.runs[name].append(await visitor.run(name))
            for switch in list(visitor.switches) if turn == rounds - 1 else ():
                seen.turned.append(await visitor.turn(switch))
    await visitor.close()
    return seen


@contextmanager
def servers(count: int, runs: Path) -> Iterator[list[tuple[int, psutil.Process]]]:
    """Start processes of the app that share one folder, with their ports."""
    started = []
    try:
        for number in range(count):
            port = free_port()
            server = start_server(
                "app.py", port, runs.with_name(f"server{number}.log"), {"VITVIZ_RUNS": str(runs)}
            )
            started.append((port, server))
        yield [(port, psutil.Process(server.pid)) for port, server in started]
    finally:
        for _, server in started:
            stop_server(server)


@contextmanager
def training(runs: Path, count: int) -> Iterator[Callable[[], int]]:
    """Train runs of one thread, as the lab does; return the number of images that they processed."""
    from live_updates import first_record_s, seen

    from vitviz.training.executor import LocalExecutor

    executor = LocalExecutor(runs, slots=count)
    try:
        started = [first_record_s(executor, seed)[0] for seed in range(count)]
        yield lambda: sum(map(seen, started))
        for run in started:
            if not run.status().active:
                raise RuntimeError(f"a run ended ({run.status().state}) before the class did")
            executor.stop(run)
    finally:
        executor.close()


def memory_mb(processes: list[psutil.Process]) -> float:
    """Of the server's processes together."""
    return sum(process.memory_info().rss for process in processes) / 2**20


async def measure(a: argparse.Namespace, runs: Path) -> str:
    """Return the row of one class."""
    trains = training(runs, a.training) if a.training else nullcontext()
    with servers(a.processes, runs) as started, trains as trained:
        ports, processes = [port for port, _ in started], [process for _, process in started]
        first = [await alone(port, 2) for port in ports][0]
        speed = await speed_of(trained, asyncio.sleep(SPEED_S)) if trained else 0.0
        before, load = memory_mb(processes), os.getloadavg()[0]
        seen, until = Seen(), time.monotonic() + a.seconds
        everyone = asyncio.gather(
            *(stay(Visitor(ports[i % len(ports)]), until, a.think, seen) for i in range(a.visitors))
        )
        kept = await speed_of(trained, everyone) / speed if trained else 0.0
        await everyone
        during = memory_mb(processes)
        await asyncio.sleep(a.after)
        after = memory_mb(processes)
    report(a, first, seen)
    errors = [
        message
        for answers in (*seen.runs.values(), seen.polls)
        for one in answers
        for message in one.exceptions
    ]
    sizes = statistics.mean(one.size for one in seen.pages) / 1000
    turned = statistics.median(one.size for one in first.turned) / 1000
    return (
        f"| {a.visitors} | {a.processes} | {a.training or 'none'} | {load:.1f}"
        f" | {1000 * statistics.median(seconds(seen.pages)):.0f} ms | {1000 * p95(seconds(seen.pages)):.0f} ms"
        f" | {len(seen.pages) / a.seconds:.1f} | {f'{100 * kept:.0f} %' if a.training else ''}"
        f" | {sizes:.0f} KB | {turned:.0f} KB | {(during - before) / a.visitors:.1f} MB"
        f" | {before:.0f} → {during:.0f} → {after:.0f} MB | {len(errors)} / {len(seen.broken)} |"
    )


async def measure_class(a: argparse.Namespace, runs: Path) -> list[str]:
    """Return the rows of a class that trains, draws and uploads at once."""
    seen, peak_mb = Seen(), [0.0, 0.0]
    with servers(1, runs) as [(port, server)]:
        clock = partial(time.clock_gettime, ~server.pid << 3 | 2)  # clock_getcpuclockid(3) of Linux
        await alone(port, 1 if a.small else 2)
        teacher = Visitor(port)
        await teacher.open()
        await teacher.run()
        await teacher.run("class_room")
        await teacher.press("Open class")
        await teacher.press("Open challenge")
        classes = ClassStore(runs / NAME)
        with classes.database.reading() as file:
            assert file is not None
            (code,) = file.execute("SELECT code FROM class").fetchone()
        before_mb, load, began, worked = memory_mb([server]), os.getloadavg()[0], time.monotonic(), clock()
        states: list[str] = []

        def is_over() -> bool:
            states[:] = [
                Run(runs / entry.run).status().state for entry in challenge.load_entries(classes, code)
            ]
            ended = sum(state in ENDED for state in states)
            return ended == a.visitors or time.monotonic() - began > a.seconds

        async def watch() -> None:
            while not is_over():
                trainers = [one for one in server.children(True) if "vitviz.training.worker" in one.cmdline()]
                peak_mb[:] = max(peak_mb[0], memory_mb([server])), max(peak_mb[1], memory_mb(trainers))
                await asyncio.sleep(1.0)
            over.set()

        over = asyncio.Event()
        photo = photograph()
        learners = (
            learn(Visitor(port, clock=clock), code, photo, over, a.think, seen) for _ in range(a.visitors)
        )
        await asyncio.gather(watch(), *learners)
        lasted = time.monotonic() - began
        cores = (clock() - worked) / lasted
        classes.database.close()
    report(a, Seen(), seen)
    rows = [
        f"| {name} | {len(answers)} | {' | '.join(f'{1000 * measured:.0f} ms' for measured in columns(answers))} |"
        for name, answers in {"open a page": seen.pages, **seen.actions, "poll": seen.polls}.items()
    ]
    return [
        f"{a.visitors} learners, load {load:.1f} before; {states.count('done')} of {a.visitors} trainings ended in"
        f" {lasted:.0f} s; the server used {cores:.2f} of a core; memory: server {before_mb:.0f} → {peak_mb[0]:.0f} MB,"
        f" trainers at most {peak_mb[1]:.0f} MB; errors: {len(seen.broken)}",
        "",
        "| action | count | time, median | p95 | processor time, median | p95 |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def columns(answers: list[Answer]) -> list[float]:
    """Return the median and the 95th percentile of the clock, and of the server's processor time."""
    both = seconds(answers), [answer.processor_s for answer in answers]
    return [measure for times in both for measure in (statistics.median(times), p95(times))]


async def count_runs(a: argparse.Namespace, runs: Path) -> None:
    """Have visitors leave and come back until so many pages have run, and print the memory of every thousand."""
    with servers(1, runs) as [(port, process)]:
        counter, began = itertools.count(1), time.monotonic()

        async def come_and_go() -> None:
            while True:
                visitor = Visitor(port)
                await visitor.open()
                await visitor.run()
                for _ in range(random.randrange(5, 40)):
                    answer = await visitor.run(random.choice(list(visitor.pages)))
                    if answer.exceptions:
                        print(f"{visitor.page}: {answer.exceptions}", flush=True)
                    if (done := next(counter)) % 1000 == 0:
                        minutes, handles = (time.monotonic() - began) / 60, process.num_fds()
                        threads, memory = process.num_threads(), memory_mb([process])
                        print(
                            f"{done} runs, {minutes:.1f} min: {memory:.0f} MB, {threads} threads, {handles} files",
                            flush=True,
                        )
                    if done >= a.runs:
                        return
                await visitor.close()

        await asyncio.gather(*(come_and_go() for _ in range(a.visitors)))


async def speed_of(trained: Callable[[], int], wait: asyncio.Future[object] | object) -> float:
    """Pictures per second that a training sees while something lasts."""
    before, began = trained(), time.monotonic()
    await wait  # type: ignore[misc]
    return (trained() - before) / (time.monotonic() - began)


def report(a: argparse.Namespace, first: Seen, seen: Seen) -> None:
    """Print the time of every page."""
    for name, answers in sorted(seen.runs.items()):
        print(f"{name or '(first visit)':20} {spread(answers)}")
    if seen.polls:
        print(f"{'polls':20} {spread(seen.polls)}")
    for name, answers in (("one visitor alone", first.pages), ("a switch, alone", first.turned)):
        if answers:
            print(f"{name:20} {spread(answers)}")
    for line in dict.fromkeys([*seen.broken, *(m for one in seen.pages for m in one.exceptions)]):
        print("   ", line)


def spread(answers: list[Answer]) -> str:
    """Return how many runs, how long they took, and their bytes."""
    times = seconds(answers)
    return (
        f"{len(times):5} runs, median {1000 * statistics.median(times):6.0f} ms, p95 {1000 * p95(times):6.0f} ms,"
        f" mean {statistics.mean(one.size for one in answers) / 1000:6.1f} KB"
    )


def seconds(answers: list[Answer]) -> list[float]:
    """Return how long each took."""
    return [answer.seconds for answer in answers]


def p95(values: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[int(0.95 * (len(values) - 1))]


HEAD = (
    "| users | processes | runs | load before | click, median | p95 | clicks per second | training speed kept"
    " | bytes per page | bytes per page switch | memory per user | memory: before → with all → after"
    " | page errors / lost sessions |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seconds", type=float, help="default: 40; with --hands-on: 1800")
    parser.add_argument(
        "--think", type=float, help="mean seconds between two clicks; default: 1; with --hands-on: 3"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--training", type=int, default=0, help="number of runs that train meanwhile, with one thread each"
    )
    parser.add_argument(
        "--after", type=float, default=300.0, help="seconds from the end to the last measurement of memory"
    )
    parser.add_argument(
        "--runs", type=int, default=0, help="number of page runs without a pause, instead of --seconds"
    )
    parser.add_argument("--small", action="store_true", help="two users for two seconds")
    parser.add_argument(
        "--hands-on", action="store_true", help="a class that trains, draws and uploads at once"
    )
    a = parser.parse_args()
    a.think = a.think or (3.0 if a.hands_on else 1.0)
    a.seconds = a.seconds or (1800.0 if a.hands_on else 40.0)
    if a.small:
        a.visitors, a.seconds, a.after = 2, 30.0 if a.hands_on else 4.0, 0.0
    if a.hands_on:
        os.environ["VITVIZ_AHEAD"] = "0"  # the pages are opened before
        with tempfile.TemporaryDirectory() as folder:
            rows = asyncio.run(measure_class(a, Path(folder) / "runs"))
        print(
            f"\n{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}\n", *rows, sep="\n"
        )
        return 0 if rows[0].endswith("errors: 0") else 1
    with tempfile.TemporaryDirectory() as folder:
        if a.runs:
            asyncio.run(count_runs(a, Path(folder) / "runs"))
            return 0
        row = asyncio.run(measure(a, Path(folder) / "runs"))
    print(f"\n{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}\n{HEAD}\n{row}")
    return 0 if row.endswith("| 0 / 0 |") else 1


if __name__ == "__main__":
    sys.exit(main())
