"""The long form: `python -m tests.robustness.fuzz --inputs 100000 [ENTRY…]`; ends with 1 where one did not hold."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
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
    parser.add_argument("--minutes", type=float, help="share these among the entries, in place of --inputs")
    parser.add_argument("--attacks", action="store_true", help="give the attacks alone, and print their cost")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="where findings are written")
    options = parser.parse_args()
    if options.attacks:
        return int(sum(print_attacks(name) for name in options.entries) > 0)
    return int(sum(print_findings(name, options) for name in options.entries) > 0)


def print_findings(name: str, options: argparse.Namespace) -> int:
    """Fuzz an entry, keep and print each finding, print what was done, and return how many did not hold."""
    begun, worked, findings = time.monotonic(), time.process_time(), 0
    print(f"{name}: begun", flush=True)  # so that an entry that ends this process has a line, too
    most, end = options.inputs, math.inf
    if options.minutes:
        most, end = math.inf, begun + 60 * options.minutes / len(options.entries)
    counter = itertools.count()
    spoilt = itertools.takewhile(lambda given: given < most and time.monotonic() < end, counter)
    with tempfile.TemporaryDirectory() as folder, opened(name, Path(folder)) as one:
        for finding in fuzz(one, spoilt, options.seed):
            findings += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            path = options.keep / f"{name}-{hashlib.sha256(finding.data).hexdigest()[:12]}"
            path.write_bytes(finding.data)
            print(f"  {path}: {finding.what}", flush=True)
    print(
        f"{name}: {len(one.seeds)} seeds, {next(counter) - 1:,} inputs, {findings} did not hold,"
        f" {time.monotonic() - begun:.0f} s, {time.process_time() - worked:.0f} s of the processor",
        flush=True,
    )
    return findings


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
