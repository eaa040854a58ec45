"""Measure the server's CPU time and the bytes of a warm run of every page.

    python benchmarks/page_runs.py [--rounds 15] [--pages home,block] [--profile PAGE] [--small]

The app runs on Streamlit's runtime in this process; one user without a browser goes from page to page and reports the
cached messages, as a browser does. The first rounds warm the caches and do not count. A run lasts from the user's
message to the end of the script, serialisation included; the table has the median and the largest. 'Same page again' is
a rerun without a change. Aims: at most 35 ms on every page and 25 ms on half of them. Writes benchmarks/page_runs.md
and keeps its earlier results; --profile prints one page's profile, --small runs three pages once; both write nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import os
import platform
import pstats
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from streamlit.config import get_option
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.runtime import RuntimeConfig
from streamlit.runtime.runtime_util import serialize_forward_msg
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.training.provenance import processor  # noqa: E402

WARMING = 3  # rounds that do not count
AIM_MS, AIM_HALF_MS = 35.0, 25.0


@dataclass
class Cost:
    """What the runs of one page cost."""

    switched: list[tuple[float, int]] = field(default_factory=list)  # (CPU milliseconds, bytes) of each
    again: list[tuple[float, int]] = field(default_factory=list)


class Visitor:
    """A session of the runtime, without a socket: takes its messages and counts their bytes."""

    client_context = None  # no cookies, no headers

    def __init__(self, runtime: Runtime) -> None:
        self.pages: dict[str, str] = {}
        self._runtime = runtime
        self._bytes, self._run = 0, 0
        self._page, self._query = "", ""  # of the last run; a click in the menu sends no query
        # Runs after which a browser forgets a message that none of them used.
        self._memory = int(get_option("global.maxCachedMessageAge"))
        self._held: dict[str, int] = {}  # message -> the last run that used it, as a browser holds them
        self._ended = asyncio.Event()
        self._session = runtime.connect_session(self, {})

    def write_forward_msg(self, message: ForwardMsg) -> None:
        self._bytes += len(serialize_forward_msg(message))
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            self._held[message.ref_hash] = self._run
        elif message.metadata.cacheable:
            self._held[message.hash] = self._run
        if kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "navigation":
            self.pages = {
                entry.url_pathname or "home": entry.page_script_hash for entry in message.navigation.app_pages
            }
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(message.delta.new_element.exception.message)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self._ended.set()

    def find_fragments(self, key: str) -> list[str]:
        """Return the ids of the fragments with a key that the last run of a page has drawn."""
        info = self._runtime._session_mgr.get_session_info(self._session)
        assert info is not None
        storage = info.session._fragment_storage
        return list(storage._ids_by_target_key.get(key, ()))  # type: ignore[attr-defined]

    async def run(self, page_hash: str = "", query: str = "", fragment: str = "") -> tuple[float, int]:
        """CPU milliseconds and bytes of one run of a page, at the address that it wrote last or at another one.

        Args:
            fragment: id of the fragment that runs alone.
        """
        message = BackMsg()
        message.rerun_script.fragment_id = fragment
        message.rerun_script.widget_states.SetInParent()
        message.rerun_script.page_script_hash = page_hash
        message.rerun_script.query_string = query or (self._query if page_hash == self._page else "")
        message.rerun_script.cached_message_hashes.extend(self._held)
        self._ended.clear()
        self._bytes, self._run, self._page = 0, self._run + 1, page_hash
        began = time.process_time()
        self._runtime.handle_backmsg(self._session, message)
        await asyncio.wait_for(self._ended.wait(), 120)
        cost = 1000 * (time.process_time() - began)
        self._held = {name: run for name, run in self._held.items() if self._run - run < self._memory}
        await asyncio.sleep(0.02)  # the script's thread ends
        return cost, self._bytes


def app(runs: Path) -> Runtime:
    """Return the app on a runtime of its own in this process, which has no other."""
    os.environ |= {"VITVIZ_RUNS": str(runs), "VITVIZ_AHEAD": "0"}
    os.chdir(ROOT)  # where Streamlit looks for its settings
    from pages.frame import warm_up

    warm_up.QUIET_S = 0.0
    return Runtime(
        RuntimeConfig(
            str(ROOT / "app.py"), MemoryMediaFileStorage("/media"), MemoryUploadedFileManager("/upload")
        )
    )


async def measure(runtime: Runtime, rounds: int, wanted: list[str], profile: str) -> dict[str, Cost]:
    """Return the costs of the pages by address; `profile` also prints where the time of one page goes."""
    await runtime.start()
    visitor = Visitor(runtime)
    await visitor.run()
    await asyncio.sleep(0.1)
    names = wanted or list(visitor.pages)
    costs = {name: Cost() for name in names}
    for turn in range(WARMING + rounds):
        for name in names:
            if turn == WARMING:
                gc.collect()
            switched = await visitor.run(visitor.pages[name])
            again = await visitor.run(visitor.pages[name])
            if turn >= WARMING:
                costs[name].switched.append(switched)
                costs[name].again.append(again)
    if profile:
        await print_profile(visitor, profile, names)
    runtime.stop()
    await runtime.stopped
    return costs


async def print_profile(visitor: Visitor, name: str, others: list[str]) -> None:
    """Where the CPU time of the script's thread goes in ten runs of a page, each after another page."""
    plain, watch = ScriptRunner._run_script, cProfile.Profile(time.thread_time)

    def watched(runner: ScriptRunner, data: object) -> None:
        watch.enable()
        try:
            plain(runner, data)  # type: ignore[arg-type]
        finally:
            watch.disable()

    for turn in range(10):
        ScriptRunner._run_script = plain  # type: ignore[method-assign]
        await visitor.run(visitor.pages[others[turn % len(others)]])
        ScriptRunner._run_script = watched  # type: ignore[method-assign, assignment]
        await visitor.run(visitor.pages[name])
    ScriptRunner._run_script = plain  # type: ignore[method-assign]
    for order in ("cumulative", "tottime"):
        pstats.Stats(watch).sort_stats(order).print_stats(70)


def table(costs: dict[str, Cost]) -> list[str]:
    """Return the rows: each page, then how many keep the aims."""
    rows = [
        "| page | CPU, median | largest | bytes | same page again, CPU | bytes |",
        "|---|---|---|---|---|---|",
    ]
    for name, cost in costs.items():
        cpu, sizes = zip(*cost.switched, strict=True)
        cpu_again, sizes_again = zip(*cost.again, strict=True)
        rows.append(
            f"| {name} | {statistics.median(cpu):.1f} ms | {max(cpu):.1f} ms | {statistics.median(sizes):,.0f}"
            f" | {statistics.median(cpu_again):.1f} ms | {statistics.median(sizes_again):,.0f} |"
        )
    medians = [statistics.median(ms for ms, _ in cost.switched) for cost in costs.values()]
    mean = statistics.mean(statistics.median(size for _, size in cost.switched) for cost in costs.values())
    rows += [
        "",
        f"{sum(ms <= AIM_MS for ms in medians)} of {len(medians)} pages within {AIM_MS:g} ms,"
        f" {sum(ms <= AIM_HALF_MS for ms in medians)} within {AIM_HALF_MS:g} ms; mean {statistics.mean(medians):.1f} ms"
        f" and {mean:,.0f} bytes per run.",
    ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pages", default="", help="addresses, joined by commas; all of them by default")
    parser.add_argument("--profile", default="", metavar="PAGE")
    parser.add_argument("--small", action="store_true", help="three pages, one round; writes nothing")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.pages.split(",") if name]
    if arguments.small:
        arguments.rounds, wanted = 1, ["home", "patches", "words"]
    with tempfile.TemporaryDirectory() as folder:
        costs = asyncio.run(measure(app(Path(folder)), arguments.rounds, wanted, arguments.profile))
    text = "\n".join(
        [
            "# Page runs",
            "",
            f"`python benchmarks/page_runs.py`, {date.today().isoformat()}, {os.cpu_count()} cores,"
            f" {processor()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end;"
            f" {arguments.rounds} rounds.",
            "",
            *table(costs),
            "",
        ]
    )
    if not (arguments.small or arguments.profile or wanted):
        file = Path(__file__).with_suffix(".md")
        _, heading, before = file.read_text().partition("## Before")
        file.write_text(f"{text}\n{heading}{before}" if before else text)
    print(text, flush=True)
    os._exit(0)  # the app's own threads are at work, and a library's would end the process badly


if __name__ == "__main__":
    main()
