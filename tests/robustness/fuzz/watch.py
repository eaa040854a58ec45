"""Gives spoilt files to an entry and notices what does not hold: a traceback, too long, too much memory."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.robustness.fuzz.mutate import spoil
from vitviz.malloc import give_back

LONGEST_S = 2.0  # of processor time: a busy machine is no finding
MOST_BYTES = 300 * 2**20
LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Entry:
    """One way in: real files, what takes them, and the errors whose one sentence a user may read.

    attacks: hostile files by what is odd about them, each made when it is needed.
    """

    name: str
    seeds: list[bytes]
    take: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = ()
    attacks: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    draw: Callable[[random.Random], bytes] | None = None  # makes an input; None: a spoilt seed
    longest_s: float = LONGEST_S
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True)
class Finding:
    """An input that did not hold, and how."""

    entry: str
    data: bytes
    what: str


def fuzz(entry: Entry, inputs: Iterable[object], seed: int) -> Iterator[Finding]:
    """Gives an entry its own files first, which it must take, then a spoilt one for each of `inputs`."""
    dice = random.Random(f"{entry.name} {seed}")
    for data in entry.seeds:
        what = held(replace(entry, refusals=()), data)  # a seed that is refused tests nothing
        if what is not None:
            yield Finding(entry.name, data, what)
    for _ in inputs:
        data = entry.draw(dice) if entry.draw else spoil(dice, dice.choice(entry.seeds), entry.seeds)
        what = held(entry, data)
        if what is not None:
            yield Finding(entry.name, data, what)


def bound_memory(most_bytes: int = 6 * 2**30) -> None:
    """Ends an input that would take all of the machine's memory with a MemoryError; torch maps some 3 GB by itself."""
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))


def measure_attacks(entry: Entry) -> Iterator[tuple[str, Cost]]:
    """Give an entry each of its attacks and measure what that costs."""
    for name, make in entry.attacks.items():
        yield name, measure(entry, make())


@dataclass(frozen=True)
class Cost:
    """The cost of one input, and what did not hold about it."""

    seconds: float  # of processor time
    grown_bytes: int  # beyond what the process held before
    said: str  # the refusal, or 'taken'
    what: str | None


def held(entry: Entry, data: bytes) -> str | None:
    """None where an input was taken or refused in one sentence, within bounds; else what happened."""
    return measure(entry, data).what


def measure(entry: Entry, data: bytes) -> Cost:
    """Give an input to an entry and measure its processor time and the memory that it adds at its peak."""
    _forget_peak()
    peak, begun = _peak_bytes(), time.process_time()
    what, returned = None, "taken"
    try:
        entry.take(data)
    except entry.refusals as error:
        returned = str(error)
        if "\n" in returned or len(returned) > LONGEST_SENTENCE:
            what = f"no one sentence: {returned[:200]!r}"
    except BaseException as error:  # noqa: BLE001 whatever it is, it is a finding
        returned = what = f"{type(error).__name__}: {error}"[:300]
    seconds, grown = time.process_time() - begun, _peak_bytes() - peak
    if grown > entry.most_bytes:
        what = f"{grown / 2**20:.0f} MB"
    elif seconds > entry.longest_s:
        what = f"{seconds:.1f} s"
    return Cost(seconds, grown, returned, what)


def _forget_peak() -> None:
    """Let the kernel count this process's peak from now on: an earlier one would hide a smaller one."""
    give_back()
    Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
