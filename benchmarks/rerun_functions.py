"""Count the project's functions and files that a warm rerun of a lens runs, and its processor time.

    python benchmarks/rerun_functions.py [--pages patches,attention] [--rounds 20] [--images] [--list] [--small]

The whole page runs after a change of the sidebar's selection or of the section, its view alone after a change of the
view's controls. Nothing has changed since the run before; with --images, each run of the page shows another image of
MNIST. A function counts once, however often it is called; comprehensions do not count. Aims: 120 functions in 30 files.
--list also prints the calls by file; --small runs twice only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from streamlit.runtime import Runtime  # noqa: E402

from benchmarks.page_runs import WARMING, Visitor, app  # noqa: E402

FOLDERS = tuple(f"{ROOT}/{name}" for name in ("app.py", "pages/", "vitviz/"))
COMPREHENSIONS = (
    "<listcomp>",
    "<dictcomp>",
    "<setcomp>",
    "<genexpr>",
)  # frames of their own up to Python 3.11
Calls = Counter[tuple[str, str]]  # (file, function)


async def trace_rerun(visitor: Visitor, *run: str) -> Calls:
    """Return how often a rerun calls each function of the project, in any thread."""
    calls: Calls = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(FOLDERS) and code.co_name not in COMPREHENSIONS
        if event == "call" and is_ours:
            calls[code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname] += 1

    threading.setprofile(count)  # a rerun has a thread of its own
    try:
        await visitor.run(*run)
    finally:
        threading.setprofile(None)
    return calls


async def measure(
    runtime: Runtime, names: list[str], rounds: int, images: bool
) -> dict[str, tuple[Calls, float]]:
    """Return the calls of a rerun of each page and view, and the median of its processor time in milliseconds."""
    from pages.selection.selection import VIEW  # after the settings of `app`

    await runtime.start()
    visitor, measured = Visitor(runtime), {}
    await visitor.run()
    for name in names:
        page = visitor.pages[name]
        queries = [f"model=checkpoint:mnist_vit&image=mnist:{n}" if images else "" for n in range(4)]
        for turn in range(WARMING + len(queries)):
            await visitor.run(page, queries[turn % len(queries)])
        times = [(await visitor.run(page, queries[turn % len(queries)]))[0] for turn in range(rounds)]
        traced = await trace_rerun(visitor, page, queries[rounds % len(queries)])
        measured[name] = traced, statistics.median(times)
        for fragment in visitor.find_fragments(VIEW):
            await visitor.run(page, "", fragment)
            times = [(await visitor.run(page, "", fragment))[0] for _ in range(rounds)]
            measured[f"{name}, view"] = (
                await trace_rerun(visitor, page, "", fragment),
                statistics.median(times),
            )
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", default="patches,attention", help="addresses, joined by commas")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--images", action="store_true", help="another image in each run")
    parser.add_argument("--list", action="store_true", help="print the calls by file")
    parser.add_argument("--small", action="store_true", help="two rounds")
    arguments = parser.parse_args()
    rounds = 2 if arguments.small else arguments.rounds
    with tempfile.TemporaryDirectory() as folder:
        measured = asyncio.run(
            measure(app(Path(folder)), arguments.pages.split(","), rounds, arguments.images)
        )
    for name, (calls, cpu_ms) in measured.items():
        files = Counter(file for file, _ in calls)
        counts = f"{len(calls)} functions in {len(files)} files, {calls.total()} calls"
        print(f"{name}: {counts}; {cpu_ms:.1f} ms, n = {rounds}")
        if arguments.list:
            for file, count in files.most_common():
                called = ", ".join(f"{function} {n}" for (at, function), n in calls.items() if at == file)
                print(f"  {file} {count}: {called}")
    sys.stdout.flush()
    os._exit(0)  # the app's own threads are at work


if __name__ == "__main__":
    main()
