"""Gives spoilt files to an entry and notices what does not hold: a traceback, too long, too much memory."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.robustness.fuzz.mutate import spoil

LONGEST_S = 2.0  # of processor time: a busy machine is no finding
MOST_BYTES = 300 * 2**20
LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Entry:
    """One way in: real files, what takes them, and the errors whose one sentence a visitor may read.

    `crafted`: hostile files by name, made when they are given, for they are large.
    """

    name: str
    seeds: list[bytes]
    take: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = ()
    crafted: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """An input that did not hold, and how."""

    entry: str
    data: bytes
    what: str


def fuzz(entry: Entry, inputs: int, seed: int) -> Iterator[Finding]:
    """Gives an entry its own files first, which it must take, then its crafted ones and so many spoilt ones."""
    dice = random.Random(f"{entry.name} {seed}")
    for data in entry.seeds:
        entry.take(data)  # a seed that is refused tests nothing
    for name, make in entry.crafted.items():
        data = make()
        what = held(entry, data)
        if what is not None:
            yield Finding(entry.name, data, f"{name}: {what}")
    for _ in range(inputs):
        data = spoil(dice, dice.choice(entry.seeds), entry.seeds)
        what = held(entry, data)
        if what is not None:
            yield Finding(entry.name, data, what)


def bound_memory(most_bytes: int = 6 * 2**30) -> None:
    """Ends an input that would take all of the machine's memory with a MemoryError; torch maps some 3 GB by itself."""
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))


def held(entry: Entry, data: bytes) -> str | None:
    """None where an input was taken or refused in one sentence, within bounds; else what happened."""
    peak, begun = _peak_bytes(), time.process_time()
    what = None
    try:
        entry.take(data)
    except entry.refusals as error:
        if "\n" in str(error) or len(str(error)) > LONGEST_SENTENCE:
            what = f"no one sentence: {str(error)[:200]!r}"
    except BaseException as error:  # noqa: BLE001 whatever it is, it is a finding
        what = f"{type(error).__name__}: {error}"[:300]
    seconds, grown = time.process_time() - begun, _peak_bytes() - peak
    if grown > MOST_BYTES:
        what = f"{grown / 2**20:.0f} MB"
    elif seconds > LONGEST_S:
        what = f"{seconds:.1f} s"
    return what


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
