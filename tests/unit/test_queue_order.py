"""Fair turns before the trainers: a session's second run waits for everybody's first."""

from __future__ import annotations

from pathlib import Path

from vitviz.training.queue_order import (
    QUEUED_IN_ALL,
    QUEUED_PER_ADDRESS,
    QUEUED_PER_OWNER,
    QueuedTraining,
    in_turn,
    why_full,
)


def order(name: str, owner: str, address: str = "") -> QueuedTraining:
    return QueuedTraining(Path(name), owner, 0, address)


def names(orders: list[QueuedTraining]) -> str:
    return " ".join(str(found.directory) for found in orders)


def test_every_session_has_one_turn_before_any_has_two() -> None:
    waiting = [
        order("a1", "a"),
        order("a2", "a"),
        order("a3", "a"),
        order("b1", "b"),
        order("c1", "c"),
        order("b2", "b"),
    ]
    assert names(in_turn(waiting, [])) == "a1 b1 c1 a2 b2 a3"


def test_what_is_being_trained_was_a_turn() -> None:
    waiting = [order("a2", "a"), order("b1", "b")]
    assert names(in_turn(waiting, [order("a1", "a")])) == "b1 a2"


def test_sessions_of_one_address_take_turns_with_the_others() -> None:
    waiting = [order(f"v{i}", f"v{i}", "1.1.1.1") for i in range(3)] + [order("s", "s", "2.2.2.2")]
    assert names(in_turn(waiting, [])) == "v0 s v1 v2"


def test_nine_sessions_that_fill_the_queue_do_not_keep_a_student_waiting() -> None:
    """Thirty-six runs of nine sessions: the student stood at 37."""
    crowd = [order(f"{v}.{i}", f"v{v}", "1.1.1.1") for v in range(9) for i in range(4)]
    place = names(in_turn([*crowd, order("student", "s", "1.1.1.1")], [])).split().index("student") + 1
    assert place == 10
    place = names(in_turn([*crowd, order("student", "s", "2.2.2.2")], [])).split().index("student") + 1
    assert place == 2


def test_the_queue_is_bounded_for_a_session_an_address_and_in_all() -> None:
    mine = [order(str(i), "me", "1.1.1.1") for i in range(QUEUED_PER_OWNER)]
    assert why_full(mine[:-1], "me", "1.1.1.1") is None
    assert "4 queued runs" in str(why_full(mine, "me", "1.1.1.1"))
    network = [order(str(i), str(i), "1.1.1.1") for i in range(QUEUED_PER_ADDRESS)]
    assert "your network" in str(why_full(network, "me", "1.1.1.1"))
    assert why_full(network, "me", "2.2.2.2") is None
    unknown = [order(str(i), str(i)) for i in range(QUEUED_PER_ADDRESS)]
    assert why_full(unknown, "me", "") is None
    everybody = [order(str(i), str(i), str(i)) for i in range(QUEUED_IN_ALL)]
    assert "(120 runs)" in str(why_full(everybody, "me", "2.2.2.2"))
