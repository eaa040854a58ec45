"""Order the queue of runs fairly between users, and limit its length."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vitviz.training.run_lock import new_token

QUEUED_PER_OWNER = 4
QUEUED_PER_ADDRESS = 60  # a class behind one address
QUEUED_IN_ALL = 120


@dataclass(frozen=True, eq=False)
class QueuedTraining:
    """A queued or running training."""

    directory: Path
    owner: str  # the session that created the run
    control_at: int  # earlier commands were for an earlier trainer
    address: str = ""  # client address; empty if unknown
    token: str = field(default_factory=new_token)  # of its lock
    first: bool = False  # before all others, for a teacher's run


def in_turn(waiting: Sequence[QueuedTraining], busy: Iterable[QueuedTraining]) -> list[QueuedTraining]:
    """Return the orders in turn: one per session, then each session's second; within a round, one per address.

    Running trainings count as their session's first. Orders with `first` precede all others.
    """
    counts_by_session = Counter(order.owner for order in busy)
    addresses: Counter[tuple[int, str]] = Counter((1, order.address) for order in busy)
    ranked = []
    for arrival, order in enumerate(waiting):
        counts_by_session[order.owner] += 1
        round_of_session = counts_by_session[order.owner]
        addresses[round_of_session, order.address] += 1
        ranked.append(
            (not order.first, round_of_session, addresses[round_of_session, order.address], arrival)
        )
    return [waiting[arrival] for *_, arrival in sorted(ranked)]


def why_full(waiting: Sequence[QueuedTraining], owner: str, address: str) -> str | None:
    """Return why no more runs can be queued, or None."""
    own_count = sum(order.owner == owner for order in waiting)
    if own_count >= QUEUED_PER_OWNER:
        return f"you already have {own_count} queued runs, the limit: stop one of them first"
    if len(waiting) >= QUEUED_IN_ALL:
        return f"the queue is full ({len(waiting)} runs): try again later"
    if address and sum(order.address == address for order in waiting) >= QUEUED_PER_ADDRESS:
        return f"your network already has {QUEUED_PER_ADDRESS} queued runs, the limit: try again later"
    return None
