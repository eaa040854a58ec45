"""A lock in turn: whoever asked first is next, also before the one that has just let go."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from vitviz.locks import FairLock


def waiting(turns: FairLock, count: int) -> None:
    beat = threading.Event()
    while len(turns._line) < count:
        beat.wait(0.001)


def test_it_is_given_in_the_order_in_which_it_was_asked_for() -> None:
    turns, order = FairLock(), []

    def work(name: int) -> None:
        with turns:
            order.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(5)]
    with turns:
        for number, thread in enumerate(threads):
            thread.start()
            waiting(turns, number + 1)
    with turns:  # asked for again at once, and yet last
        assert order == [0, 1, 2, 3, 4]
    for thread in threads:
        thread.join()


def test_one_holder_at_a_time_and_free_after_an_error() -> None:
    turns, held, most = FairLock(), [], []

    def work() -> None:
        for _ in range(200):
            try:
                with turns:
                    held.append(1)
                    most.append(len(held))
                    held.pop()
                    raise ValueError
            except ValueError:
                pass

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(work)
    assert most == [1] * 800
