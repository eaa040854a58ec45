"""The long form: `python -m tests.robustness.fuzz --inputs 100000 [ENTRY…]`; ends with 1 where one did not hold."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.robustness.fuzz import sockets
from tests.robustness.fuzz.entries import NAMES, entry
from tests.robustness.fuzz.watch import Entry, bound_memory, fuzz, measure_attacks

LINKS = "links"
SOCKETS = "sockets"  # of a running server; seconds an input, so it is fuzzed where it is named


def main() -> int:
    """Fuzz the named entries one after the other; what did not hold is kept as a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "entries", nargs="*", default=list(NAMES), help="which of: " + ", ".join((*NAMES, SOCKETS))
    )
    parser.add_argument("--inputs", type=int, default=1000, help="spoilt files per entry")
    parser.add_argument("--attacks", action="store_true", help="give the attacks alone, and print their cost")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="where findings are written")
    options = parser.parse_args()
    if options.attacks:
        return int(sum(print_attacks(name) for name in options.entries) > 0)
    found = 0
    for name in options.entries:
        begun = time.monotonic()
        mine = 0
        with tempfile.TemporaryDirectory() as folder, opened(name, Path(folder)) as one:
            for finding in fuzz(one, options.inputs, options.seed):
                mine += 1
                options.keep.mkdir(parents=True, exist_ok=True)
                path = options.keep / f"{name}-{hashlib.sha256(finding.data).hexdigest()[:12]}"
                path.write_bytes(finding.data)
                print(f"  {path}: {finding.what}", flush=True)
        found += mine
        print(
            f"{name}: {options.inputs:,} inputs, {mine} did not hold, {time.monotonic() - begun:.0f} s",
            flush=True,
        )
    return int(found > 0)


def print_attacks(name: str) -> int:
    """Print the cost of each attack of an entry; return how many did not hold."""
    failed = 0
    bound_memory()
    with tempfile.TemporaryDirectory() as folder:
        for attack, cost in measure_attacks(entry(name, Path(folder))):
            failed += cost.what is not None
            mark = "ok    " if cost.what is None else "FAILED"
            size = f"{cost.seconds:7.2f} s {cost.grown_bytes / 2**20:7.0f} MB"
            print(f"{mark} {name}: {attack:48}{size}  {cost.said[:150]}", flush=True)
    return failed


def opened(name: str, folder: Path) -> AbstractContextManager[Entry]:
    """Return the entry of this name, whose memory is bounded where it is this process that takes the input."""
    if name == SOCKETS:
        return sockets.entry(folder)
    # Threads of the pages reserve address space that they do not use: 6 GB with 1.5 GB in use.
    bound_memory(*((16 * 2**30,) if name == LINKS else ()))
    return nullcontext(entry(name, folder))


if __name__ == "__main__":
    sys.exit(main())
