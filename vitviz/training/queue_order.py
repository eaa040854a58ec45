"""The queue before the trainers: fair turns, and how many may wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vitviz.training.run_lock import new_token

QUEUED_PER_OWNER = 4
QUEUED_PER_ADDRESS = 60  # a class behind one address
QUEUED_IN_ALL = 120


@dataclass(frozen=True, eq=False)
class Order:
    """A run that is to be trained."""

    directory: Path
    owner: str  # the visit that made the run
    control_at: int  # commands before this byte were for an earlier trainer
    address: str = ""  # from where it was asked for; empty where that is not known
    token: str = field(default_factory=new_token)  # of its claim
    first: bool = False  # before all others: a teacher's, once a class


def in_turn(waiting: Sequence[Order], busy: Iterable[Order]) -> list[Order]:
    """The orders as they will be taken: every visit one, then every visit its second; among these every address one.

    What is being trained counts as its visit's and its address's first. One that is to be the first comes before all.
    """
    visits = Counter(order.owner for order in busy)
    addresses: Counter[tuple[int, str]] = Counter((1, order.address) for order in busy)
    ranked = []
    for arrival, order in enumerate(waiting):
        visits[order.owner] += 1
        round_of_visit = visits[order.owner]
        addresses[round_of_visit, order.address] += 1
        ranked.append((not order.first, round_of_visit, addresses[round_of_visit, order.address], arrival))
    return [waiting[arrival] for *_, arrival in sorted(ranked)]


def why_full(waiting: Sequence[Order], owner: str, address: str) -> str | None:
    """Return the sentence that says why no more may wait, or None."""
    mine = sum(order.owner == owner for order in waiting)
    if mine >= QUEUED_PER_OWNER:
        return f"you have {mine} runs waiting already; stop one of them first"
    if len(waiting) >= QUEUED_IN_ALL:
        return f"{len(waiting)} runs wait already, which is all that may; try again in a while"
    if address and sum(order.address == address for order in waiting) >= QUEUED_PER_ADDRESS:
        return f"{QUEUED_PER_ADDRESS} runs of your network wait already; try again in a while"
    return None
