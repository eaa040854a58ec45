"""Measure how fast the last learner of a class follows its teacher, and the server's cost per poll.

    python benchmarks/class_of_hundred.py [--learners 30,100] [--rounds 5] [--small]

Starts the app as one process and opens a class. The learners speak Streamlit's websocket protocol, poll at the
interval that the app sets, and draw nothing. The measurement begins when the server has warmed up. The teacher goes
from page to page; 'state' is when the last learner's session starts the page, 'figure' when its run has ended, both
from the teacher's click. Then nobody clicks, and the server's CPU time is divided by the polls. Then all answer a
question at once. The learners' process uses the same cores. Aims: state within 1.5 s for 30 learners and 4 s for 100,
at most 5 ms of CPU per poll. Writes benchmarks/class_of_hundred.md; --small uses three learners and writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from urllib.parse import urlencode

import psutil
import websockets
from streamlit.config import get_option
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.util import calc_hash

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import free_port, start_server, stop_server  # noqa: E402
from vitviz.classes import question_store  # noqa: E402
from vitviz.classes.class_question import ClassQuestion  # noqa: E402
from vitviz.classes.class_store import ClassStore  # noqa: E402
from vitviz.classes.database import NAME  # noqa: E402
from vitviz.lessons.measures import MEASURES  # noqa: E402
from vitviz.lessons.question_kinds import Drag  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

SHOWN = ("attention", "patches", "attention", "block")  # what the teacher shows, in turn
SMALL = 3
IDLE_S = 12.0
RESTING_S = 0.05  # of CPU in three seconds
LONGEST_S = 120.0
AIMS_S = {30: 1.5, 100: 4.0}
POLL_AIM_MS = 5.0


@dataclass
class Measured:
    """What one class showed; seconds but for the polls."""

    learners: int
    state: list[float] = field(default_factory=list)
    picture: list[float] = field(default_factory=list)
    polls: int = 0
    poll_cpu_ms: float = 0.0
    poll_bytes: float = 0.0
    interval: float = 0.0
    answered: float = 0.0


class Visitor:
    """A session over a socket of its own, without a browser."""

    def __init__(self, address: str, cookies: str = "") -> None:
        self._address = address
        self._headers = {"Cookie": cookies} if cookies else {}
        self._memory = int(get_option("global.maxCachedMessageAge"))
        self._held: dict[str, int] = {}
        self._runs = 0
        self._lock = asyncio.Lock()
        self.page, self.query = "", ""
        self.fragments: dict[str, float] = {}
        self.buttons: dict[str, tuple[str, str]] = {}  # (id, fragment) by label
        self.slider = ("", "")
        self.bytes = 0
        self.began: dict[str, float] = {}  # when a page's run began last, by the page's hash
        self.ended: dict[str, float] = {}

    async def open(self, slug: str, **query: str) -> None:
        """Open the app at an address."""
        self._socket = await websockets.connect(
            self._address,
            subprotocols=["streamlit"],
            additional_headers=self._headers,
            max_size=None,
            open_timeout=60,
            ping_interval=None,
        )
        await self.go(slug, **query)

    async def go(self, slug: str, **query: str) -> None:
        """One run of a page at an address."""
        self.query = urlencode(query)
        await self._ask(page=calc_hash(slug))

    async def poll(self, fragment: str) -> None:
        """Return the request of a browser at a fragment's interval."""
        await self._ask(self.page, fragment)

    async def press(self, label: str) -> None:
        """Presses the button of a name."""
        button, fragment = self.buttons[label]
        await self._ask(self.page, fragment, button)

    async def drag(self, value: float) -> None:
        """Move the slider that is there."""
        slider, fragment = self.slider
        await self._ask(self.page, fragment, slider=(slider, value))

    async def close(self) -> None:
        await self._socket.close()

    async def _ask(
        self, page: str = "", fragment: str = "", button: str = "", slider: tuple[str, float] = ("", 0.0)
    ) -> None:
        async with self._lock:
            message = BackMsg()
            run = message.rerun_script
            run.query_string, run.page_script_hash = self.query, page
            run.widget_states.SetInParent()
            if button:
                run.widget_states.widgets.add(id=button, trigger_value=True)
            if slider[0]:
                run.widget_states.widgets.add(id=slider[0]).double_array_value.data.append(slider[1])
            if fragment:
                run.fragment_id, run.is_auto_rerun = fragment, not (button or slider[0])
            run.cached_message_hashes.extend(self._held)
            await self._socket.send(message.SerializeToString())
            while not self._take(await asyncio.wait_for(self._socket.recv(), LONGEST_S)):
                pass

    def _take(self, data: str | bytes) -> bool:
        """Handle a message; return True if it ends the request."""
        assert isinstance(data, bytes)
        self.bytes += len(data)
        message = ForwardMsg.FromString(data)
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            self._held[message.ref_hash] = self._runs
        elif message.metadata.cacheable:
            self._held[message.hash] = self._runs
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.page, self.fragments, self.buttons = message.new_session.page_script_hash, {}, {}
            self.began[self.page] = time.perf_counter()
            self._runs += 1
            self._held = {name: run for name, run in self._held.items() if self._runs - run < self._memory}
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self.fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "delta":
            self._note(message)
        elif kind == "script_finished":
            early = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.ended[self.page] = time.perf_counter()
            return not early
        return False

    def _note(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        if element.WhichOneof("type") == "exception":
            raise RuntimeError(element.exception.message)
        if element.WhichOneof("type") == "button":
            self.buttons[element.button.label] = element.button.id, message.delta.fragment_id
        elif element.WhichOneof("type") == "slider" and element.slider.type == Slider.SLIDER:
            self.slider = element.slider.id, message.delta.fragment_id


async def follow(learner: Visitor, until: asyncio.Event, count: list[int]) -> None:
    """Asks at the app's own interval, as long as the class lasts; a browser's timers are not in step."""
    await asyncio.sleep(random.random())
    while not until.is_set():
        (fragment, interval), *_ = learner.fragments.items()
        at = time.perf_counter()
        await learner.poll(fragment)
        count[0] += 1
        await asyncio.sleep(max(0.0, interval - (time.perf_counter() - at)))


async def shown(
    teacher: Visitor, learners: list[Visitor], slug: str, code: str, index: int
) -> tuple[float, float]:
    """Return the seconds from the teacher's click until the last learner's page has begun, and until it has ended."""
    page, clicked = calc_hash(slug), time.perf_counter()
    await teacher.go(slug, model="checkpoint:digits_vit", image=f"digits:{index}", **{"class": code})

    def there(times: str) -> bool:
        return all(getattr(one, times).get(page, 0.0) > clicked and one.page == page for one in learners)

    while not (there("began") and there("ended")):
        await asyncio.sleep(0.02)
        if time.perf_counter() - clicked > LONGEST_S:
            raise RuntimeError(f"a learner did not follow to {slug} within {LONGEST_S:g} s")
    return max(one.began[page] for one in learners) - clicked, max(
        one.ended[page] for one in learners
    ) - clicked


async def answered(learners: list[Visitor], classes: ClassStore, code: str) -> float:
    """Return the seconds until all answers are counted, after all learners submit at once."""
    asked = ClassQuestion(
        "How much?",
        Drag(0.0, 1.0, 0.01, "%"),
        MEASURES["variance_held"](5),
        "",
        "checkpoint:digits_vit",
        0,
        "digits:0",
    )
    question_store.ask_question(classes, code, asked)
    while not all("Submit answer" in learner.buttons for learner in learners):
        await asyncio.sleep(0.05)
    await asyncio.gather(*(learner.drag(40.0) for learner in learners))
    pressed = time.perf_counter()
    await asyncio.gather(*(learner.press("Submit answer") for learner in learners))
    now = question_store.load_question(classes, code)
    assert now is not None and now.answers == len(learners), now
    question_store.end_question(classes, code)
    return time.perf_counter() - pressed


async def measure(
    server: subprocess.Popen[bytes], port: int, runs: Path, count: int, rounds: int
) -> Measured:
    """Return a class of so many."""
    found, address = Measured(count), f"ws://127.0.0.1:{port}/_stcore/stream"
    teacher, learners = Visitor(address), [Visitor(address) for _ in range(count)]
    await teacher.open("class_room")
    if count > SMALL:
        await rest(psutil.Process(server.pid))
    await teacher.press("Open class")
    classes = ClassStore(runs / NAME)
    with classes.database.reading() as file:
        assert file is not None
        (code,) = file.execute("SELECT code FROM class ORDER BY opened DESC").fetchone()
    for learner in learners:
        await learner.open("class_room", **{"class": code})
    over, polls = asyncio.Event(), [0]
    tasks = [asyncio.create_task(follow(learner, over, polls)) for learner in learners]
    for index in range(rounds + 1):
        state, picture = await shown(teacher, learners, SHOWN[index % len(SHOWN)], code, index)
        if index:  # the first loads what everybody needs
            found.state.append(state)
            found.picture.append(picture)
        await asyncio.sleep(1.0)
    process = psutil.Process(server.pid)
    before, polled, sent = cpu_s(process), polls[0], sum(learner.bytes for learner in learners)
    await asyncio.sleep(IDLE_S)
    found.polls = polls[0] - polled
    found.poll_cpu_ms = 1000 * (cpu_s(process) - before) / max(1, found.polls)
    found.poll_bytes = (sum(learner.bytes for learner in learners) - sent) / max(1, found.polls)
    found.interval = next(iter(learners[0].fragments.values()))
    found.answered = await answered(learners, classes, code)
    over.set()
    await asyncio.gather(*tasks)
    for visitor in (teacher, *learners):
        await visitor.close()
    classes.database.close()
    return found


async def rest(server: psutil.Process) -> None:
    """Wait until what is heavy has loaded behind the first page, and every page was looked at in advance."""
    spent = RESTING_S
    while spent >= RESTING_S:
        await asyncio.sleep(1.0)
        before = cpu_s(server)
        await asyncio.sleep(3.0)
        spent = cpu_s(server) - before


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds of the server itself, without its trainer."""
    times = process.cpu_times()
    return float(times.user + times.system)


def table(measured: list[Measured]) -> list[str]:
    """Return one row a class, and whether the aims are kept."""
    rows = [
        "| learners | last learner has the state, median (largest) | last learner has the figure, median (largest)"
        " | poll interval | CPU per poll | bytes per poll | all have answered |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        rows.append(
            f"| {one.learners} | {statistics.median(one.state):.2f} s ({max(one.state):.2f})"
            f" | {statistics.median(one.picture):.2f} s ({max(one.picture):.2f}) | {one.interval:.2f} s"
            f" | {one.poll_cpu_ms:.1f} ms | {one.poll_bytes:,.0f} | {one.answered:.2f} s |"
        )
    rows.append("")
    for one in measured:
        if (aim := AIMS_S.get(one.learners)) is not None:
            within = "within" if statistics.median(one.state) <= aim else "above"
            rows.append(
                f"- {one.learners} learners: the median is {within} the aim of {aim:g} s for the state."
            )
        within = "within" if one.poll_cpu_ms <= POLL_AIM_MS else "above"
        rows.append(f"- {one.learners} learners: a poll is {within} the aim of {POLL_AIM_MS:g} ms.")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--learners", default="30,100", help="sizes of classes, joined by commas")
    parser.add_argument("--rounds", type=int, default=5, help="number of pages that the teacher opens")
    parser.add_argument("--small", action="store_true", help="three learners, one page; writes nothing")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.learners.split(",")]
    if arguments.small:
        sizes, arguments.rounds = [SMALL], 1
    load = os.getloadavg()[0]
    measured = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            port, runs, log = free_port(), Path(folder) / "runs", Path(folder) / "server.log"
            server = start_server("app.py", port, log, {"VITVIZ_RUNS": str(runs)})
            try:
                measured.append(asyncio.run(measure(server, port, runs, size, arguments.rounds)))
            except Exception:
                print(log.read_text(errors="replace")[-4000:], file=sys.stderr)
                raise
            finally:
                stop_server(server)
    text = "\n".join(
        [
            "# A class of a hundred",
            "",
            f"`python benchmarks/class_of_hundred.py`, {date.today().isoformat()}, {os.cpu_count()} cores,"
            f" {processor()}, Python {platform.python_version()}; load {load:.1f} before,"
            f" {os.getloadavg()[0]:.1f} after; {arguments.rounds} rounds; one server process, the learners in another.",
            "",
            *table(measured),
            "",
        ]
    )
    if not arguments.small and sizes == [*AIMS_S]:
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
