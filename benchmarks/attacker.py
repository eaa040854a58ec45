"""Measure what the users of one server notice of an attacker on one websocket.

    python benchmarks/attacker.py [--users 30] [--seconds 20] [--think 1]
    python benchmarks/attacker.py --small

The users are those of benchmarks/classroom.py. Beside them is nobody; an attacker that sends 10,000 reruns at once, on
one socket or on ten, and connects again as soon as it is closed; or one that stays below the limit, with 29 reruns per
second. Aim: a 95th percentile of 1 s for the users' page runs. Prints the table of benchmarks/attacker.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from classroom import Seen, p95, seconds, servers, stay  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402

from tests.robustness.fuzz.sockets import MESSAGES, messages, open_socket  # noqa: E402
from tests.visitor import Visitor  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

os.environ["VITVIZ_AHEAD"] = "0"  # the server would open its pages beside the users: they are opened before
RERUN = messages()["rerun"]
PACE = 29  # per second; pages/frame/socket_limits.py closes a socket above 30


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


async def flood_ten(port: int) -> int:
    """Flood ten sockets at once."""
    return sum(await asyncio.gather(*(flood(port) for _ in range(10))))


async def pace(port: int) -> int:
    """Open a socket and send reruns just below the limit, reading nothing."""
    socket = await open_socket(port)
    with suppress(ConnectionClosed):
        for _ in range(10 * PACE):
            await socket.send(RERUN)
            await asyncio.sleep(1 / PACE)
    socket.transport.abort()
    return 1


ATTACKS: dict[str, Callable[[int], Awaitable[int]]] = {
    "none": rest,
    "10,000 reruns at once, again and again": flood,
    "the same on ten sockets at once": flood_ten,
    "29 reruns per second": pace,
}


async def measure(a: argparse.Namespace, port: int, attack: Callable[[int], Awaitable[int]]) -> str:
    """Return the rest of an attack's row."""
    seen, until, sockets = Seen(), time.monotonic() + a.seconds, 0

    async def keep_attacking() -> None:
        nonlocal sockets
        while True:
            try:
                sockets += await attack(port)
            except OSError:  # the server refuses for the moment
                await asyncio.sleep(0.1)

    load = os.getloadavg()[0]
    attacking = asyncio.create_task(keep_attacking())
    await asyncio.gather(*(stay(port, until, a.think, seen) for _ in range(a.users)))
    attacking.cancel()
    times = seconds(seen.pages)
    for line in dict.fromkeys(seen.broken):
        print("   ", line)
    return (
        f"{sockets} | {load:.1f} | {1000 * statistics.median(times):.0f} ms | {1000 * p95(times):.0f} ms"
        f" | {len(times) / a.seconds:.1f} | {len(seen.broken)} |"
    )


async def measure_all(a: argparse.Namespace, port: int) -> list[str]:
    """Return the rows of all attacks on one warm server."""
    first = Visitor(port)  # what is computed once is computed before
    await first.open()
    await first.run()
    for page in first.pages:
        await first.run(page)
    await first.close()
    rows = []
    for name, attack in ATTACKS.items():
        rows.append(f"| {name} | {await measure(a, port, attack)}")
        print(rows[-1], flush=True)  # a server that hangs takes minutes for the next one
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--think", type=float, default=1.0, help="mean seconds between a user's clicks")
    parser.add_argument("--small", action="store_true", help="two users for four seconds")
    a = parser.parse_args()
    if a.small:
        a.users, a.seconds = 2, 4.0
    with tempfile.TemporaryDirectory() as folder, servers(1, Path(folder) / "runs") as [(port, _)]:
        rows = asyncio.run(measure_all(a, port))
    print(f"\n{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {a.users} users\n")
    print(
        "| attacker | sockets closed | load before | page run, median | p95 | page runs per second | broken |"
    )
    print("|---|---|---|---|---|---|---|", *rows, sep="\n")
    return 0 if all(row.endswith("| 0 |") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
