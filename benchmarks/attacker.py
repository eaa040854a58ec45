"""Measure the response times of thirty users while an attacker floods the server.

    python benchmarks/attacker.py [--users 30] [--seconds 20] [--think 1] [--attacks none pace]
    python benchmarks/attacker.py --small

The users are those of benchmarks/classroom.py. Aim: a 95th percentile of 1 s for their page runs. On a busy machine
wall time includes other programs, so the table also has the processor time of the server between a click and its
answer; on a quiet core both are about equal. Prints the table of benchmarks/attacker.md.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from classroom import Seen, p95, servers, stay  # noqa: E402
from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidMessage  # noqa: E402

from tests.robustness.fuzz.sockets import MESSAGES, messages, open_socket  # noqa: E402
from tests.visitor import Visitor  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

os.environ["VITVIZ_AHEAD"] = "0"  # the server would open its pages beside the users: they are opened before
RERUN = messages()["rerun"]
PACE = 29  # per second; pages/streamlit_fixes/required/websocket_limits.py closes a socket above 30
SOCKETS = 10


async def rest(port: int) -> int:
    """Do nothing."""
    await asyncio.sleep(3600)
    return 0


async def flood(port: int) -> int:
    """Open a socket and send reruns until the server closes it."""
    socket = await open_socket(port)
    with suppress(ConnectionClosed):
        for _ in range(MESSAGES):
            await socket.send(RERUN)
        await socket.wait_closed()
    return 1


async def pace(port: int, seconds: float = 10.0) -> int:
    """Open a socket and send reruns just below the limit, reading nothing."""
    socket = await open_socket(port)
    with suppress(ConnectionClosed):
        for _ in range(round(seconds * PACE)):
            await socket.send(RERUN)
            await asyncio.sleep(1 / PACE)
    socket.transport.abort()
    return 1


async def pace_shortly(port: int) -> int:
    """Pace for two seconds on each socket, so that none sends for long."""
    return await pace(port, 2.0)


async def compute(port: int) -> int:
    """Open links to a page that computes for seconds, each with other values, and leave before the answer."""
    attacker = Visitor(port)
    await attacker.open()
    await attacker.run()
    for _ in range(20):
        message, image = BackMsg(), random.randrange(400)
        script = message.rerun_script
        script.page_script_hash = attacker.pages["attention_distance"]
        script.query_string = (
            f"model=preset%3Aswin_digits&attention_distance.count={random.choice((128, 256, 512))}"
            f"&attention_distance.set=photos&image={image}%3A0&seed={image}"
        )
        await attacker._socket.send(message.SerializeToString())
        await asyncio.sleep(0.1)
    attacker._socket.transport.abort()
    return 1


def on_sockets(attack: Callable[[int], Awaitable[int]]) -> Callable[[int], Awaitable[int]]:
    """Return the attack on SOCKETS sockets at once."""

    async def attack_all(port: int) -> int:
        return sum(await asyncio.gather(*(attack(port) for _ in range(SOCKETS))))

    return attack_all


ATTACKS: dict[str, tuple[str, Callable[[int], Awaitable[int]]]] = {
    "none": ("none", rest),
    "flood": ("10,000 reruns at once, repeatedly", flood),
    "floods": (f"the same on {SOCKETS} sockets", on_sockets(flood)),
    "pace": ("29 reruns per second", pace),
    "paces": (f"the same on {SOCKETS} sockets", on_sockets(pace)),
    "short": (f"the same on {SOCKETS} sockets, new ones every 2 s", on_sockets(pace_shortly)),
    "compute": (f"links that compute for seconds, 10 per second on {SOCKETS} sockets", on_sockets(compute)),
}


async def attack_for_ever(port: int, name: str, sockets: Synchronized[int]) -> None:
    """Attack again and again, and count the sockets that ended."""
    while True:
        try:
            sockets.value += await ATTACKS[name][1](port)
        except (OSError, InvalidMessage, ConnectionClosed):  # the server refuses for the moment
            await asyncio.sleep(0.1)


def run_attacker(port: int, name: str, sockets: Synchronized[int]) -> None:
    """Attack in a process of its own, which takes no time from the users' process."""
    asyncio.run(attack_for_ever(port, name, sockets))


async def measure(a: argparse.Namespace, port: int, clock: Callable[[], float], name: str) -> str:
    """Return an attack's row."""
    seen, began, worked = Seen(), time.monotonic(), clock()
    sockets = multiprocessing.Value("i", 0)
    attacker = multiprocessing.Process(target=run_attacker, args=(port, name, sockets), daemon=True)
    attacker.start()
    load = os.getloadavg()[0]
    users = (stay(Visitor(port, clock=clock), began + a.seconds, a.think, seen) for _ in range(a.users))
    await asyncio.gather(*users)
    attacker.kill()
    attacker.join()
    cores = (clock() - worked) / (time.monotonic() - began)
    for line in dict.fromkeys(seen.broken):
        print("   ", line)
    waits = [answer.seconds for answer in seen.pages], [answer.processor_s for answer in seen.pages]
    columns = [
        f"{1000 * measured:.0f} ms" if times else "none ended"
        for times in waits
        for measured in (statistics.median(times or [0.0]), p95(times or [0.0]))
    ]
    return (
        f"| {ATTACKS[name][0]} | {sockets.value} | {load:.1f} | {cores:.2f} | {' | '.join(columns)}"
        f" | {len(seen.pages) / a.seconds:.1f} | {len(seen.broken)} |"
    )


async def measure_all(a: argparse.Namespace, port: int, clock: Callable[[], float]) -> list[str]:
    """Return the rows of the attacks on one warm server."""
    first = Visitor(port)  # what is computed once is computed before
    await first.open()
    await first.run()
    for page in [*first.pages] * 2:
        await first.run(page)
    await first.close()
    rows = []
    for name in a.attacks:
        rows.append(await measure(a, port, clock, name))
        print(rows[-1], flush=True)  # a server that hangs takes minutes for the next one
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--think", type=float, default=1.0, help="mean seconds between a user's clicks")
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=[*ATTACKS])
    parser.add_argument("--small", action="store_true", help="two users for four seconds")
    a = parser.parse_args()
    if a.small:
        a.users, a.seconds = 2, 4.0
    with tempfile.TemporaryDirectory() as folder, servers(1, Path(folder) / "runs") as [(port, server)]:
        clock = partial(time.clock_gettime, ~server.pid << 3 | 2)  # clock_getcpuclockid(3) of Linux
        rows = asyncio.run(measure_all(a, port, clock))
    print(f"\n{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {a.users} users\n")
    print(
        "| attacker | sockets closed | load before | cores of the server | page run, median | p95"
        " | processor time, median | p95 | page runs per second | errors |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", *rows, sep="\n")
    return 0 if all(row.endswith("| 0 |") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
