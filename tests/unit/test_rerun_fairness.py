"""Script time is shared: who has used far more than others waits for them, on whichever socket."""

from __future__ import annotations

import threading

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from pages.streamlit_fixes.required import rerun_fairness
from pages.streamlit_fixes.required.rerun_fairness import ACCOUNT, Account, ScriptRun, ScriptShares

STUDENT, ATTACKER = "192.0.2.1", "198.51.100.1"


class Server:
    """Accounts on a clock of their own; scripts run one after the other, as with one interpreter lock."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.shares = ScriptShares(lambda: self.now_s)

    def run(self, account: Account, seconds: float) -> None:
        run = self.shares.start(account)
        self.now_s += seconds
        self.shares.finish(run, seconds)

    def fill(self) -> list[ScriptRun]:
        """Start as many runs as may compute at once, each of another account."""
        return [self.shares.start(self.shares.open(f"203.0.113.{i}")) for i in range(rerun_fairness.MAX_RUNS)]

    def advance(self, seconds: float = 0.01) -> None:
        """Let every run compute for so long."""
        for run in self.shares._runs:
            self.shares._charge(run, run.charged_s + seconds)


@pytest.fixture
def server() -> Server:
    return Server()


def test_script_time_is_forgotten(server: Server) -> None:
    account = server.shares.open(STUDENT)
    server.run(account, 2.0)
    server.now_s += rerun_fairness.DECAY_S
    assert account.seconds(server.now_s) == pytest.approx(2.0 / 2.71828, rel=1e-3)


def test_nobody_waits_on_a_quiet_server(server: Server) -> None:
    account = server.shares.open(ATTACKER)
    for _ in range(100):
        assert server.shares.may_start(account)
        server.run(account, 0.5)


def test_the_next_run_is_of_who_has_used_least(server: Server) -> None:
    light, heavy = server.shares.open(STUDENT), server.shares.open(ATTACKER)
    server.run(heavy, 0.3)
    runs = server.fill()
    assert not server.shares.may_start(heavy) and not server.shares.may_start(light)
    server.shares.finish(runs.pop(), 0.02)
    assert not server.shares.may_start(heavy) and server.shares.may_start(light)
    assert server.shares.may_start(heavy)


def test_nobody_waits_for_ever(server: Server) -> None:
    account = server.shares.open(ATTACKER)
    server.run(account, 4.0)
    server.fill()
    server.advance(rerun_fairness.LONG_S + 0.1)
    began_s = server.now_s
    while not server.shares.may_start(account):
        server.now_s += 0.5
        server.advance(0.5)
    assert server.now_s - began_s == rerun_fairness.MAX_WAIT_S


def test_who_has_used_least_is_woken_when_a_script_ends(server: Server) -> None:
    woken: list[str] = []
    light, heavy = server.shares.open(STUDENT), server.shares.open(ATTACKER)
    light.wake, heavy.wake = (lambda: woken.append("light")), (lambda: woken.append("heavy"))
    server.run(heavy, 0.3)
    runs = server.fill()
    assert not server.shares.may_start(heavy) and not server.shares.may_start(light)
    server.shares.finish(runs.pop(), 0.02)
    assert woken == ["light"]
    assert server.shares.may_start(light)
    assert woken == ["light", "heavy"], "there may be room for another"


def test_accounts_that_have_used_much_leave_room_before_their_runs_are_long(server: Server) -> None:
    attackers = [server.shares.open(ATTACKER) for _ in range(10)]
    for attacker in attackers:
        attacker.add(2.0, server.now_s)
    started = [server.shares.start(one) for one in attackers if server.shares.may_start(one)]
    assert len(started) == rerun_fairness.MAX_LONG_RUNS
    assert server.shares.may_start(started[0].account), "its run is the one that the next replaces"
    assert server.shares.may_start(server.shares.open(STUDENT))


def test_runs_that_wait_for_something_hold_up_nobody(server: Server) -> None:
    account = server.shares.open(STUDENT)
    server.fill()
    assert not server.shares.may_start(account)
    server.now_s += rerun_fairness.IDLE_S
    assert server.shares.may_start(account)


def test_long_runs_make_room_for_short_ones_and_for_few_long_ones(server: Server) -> None:
    light, heavy = server.shares.open(STUDENT), server.shares.open(ATTACKER)
    server.run(heavy, 2.0)
    server.fill()
    server.advance(rerun_fairness.LONG_S + 0.1)
    assert server.shares.may_start(light) and not server.shares.may_start(heavy)


def test_a_new_socket_takes_over_the_script_time_of_one_that_closed(server: Server) -> None:
    shares = server.shares
    for count in range(1, 21):
        account = shares.open(ATTACKER)
        assert account.seconds(server.now_s) == pytest.approx(0.7 * (count - 1), rel=0.5)
        server.run(account, 0.7)
        shares.close(account)
    assert shares.open("203.0.113.9").seconds(server.now_s) == 0.0, "another network"
    assert shares.open(ATTACKER).seconds(server.now_s) > 4.0
    assert shares.open(ATTACKER).seconds(server.now_s) == 0.0, "it is taken over once"


def test_scripts_that_outlive_their_socket_count_for_the_next(server: Server) -> None:
    for _ in range(2):
        account = server.shares.open(ATTACKER)
        assert server.shares.may_start(account)
        server.shares.start(account)
        server.shares.close(account)
    account = server.shares.open(ATTACKER)
    assert not server.shares.may_start(account)
    server.now_s += rerun_fairness.THREAD_WAIT_S
    assert server.shares.may_start(account), "the scripts may wait for something that never comes"


def test_thirty_users_with_a_page_per_second_never_wait(server: Server) -> None:
    users = [server.shares.open(STUDENT) for _ in range(30)]
    for _ in range(20):
        for user in users:
            run = server.shares.start(users[0])
            assert server.shares.may_start(user)
            server.shares.finish(run, 0.0)
            server.run(user, 0.04)


def test_attackers_take_what_users_leave(server: Server) -> None:
    """Users ask for a page of 20 ms per second, attackers all the time; the scripts take turns of 5 ms."""
    users, attackers = ([server.shares.open(STUDENT) for _ in range(size)] for size in (30, 10))
    due = [server.now_s + i / 30 for i in range(30)]
    running: list[tuple[ScriptRun, float]] = []
    waits: list[float] = []
    asked, end = server.now_s, server.now_s + 30.0
    while server.now_s < end:
        for i, user in enumerate(users):
            if due[i] <= server.now_s and server.shares.may_start(user):
                running.append((server.shares.start(user), due[i]))
                due[i] += 1.0
        for attacker in attackers:
            if server.now_s > asked + 1 / 29:
                server.shares.ask(attacker)
            if server.shares.may_start(attacker):
                running.append((server.shares.start(attacker), 0.0))
        asked = max(asked, server.now_s - (server.now_s - asked) % (1 / 29))
        assert len(running) <= 2 * rerun_fairness.MAX_RUNS
        run, asked_at = running.pop(0)
        server.now_s += 0.005
        server.shares._charge(run, run.charged_s + 0.005)
        if run.charged_s < 0.0199:
            running.append((run, asked_at))
        else:
            server.shares.finish(run, run.charged_s)
            waits += [server.now_s - asked_at] if asked_at else []
    waits.sort()
    assert len(waits) > 880 and waits[int(0.95 * len(waits))] < 0.2


def test_a_script_is_charged_while_it_runs_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, seen = ScriptShares(), threading.Event()
    monkeypatch.setattr(rerun_fairness, "SHARES", shares)
    measured: list[float] = []

    def compute(runner: ScriptRunner) -> None:
        while not seen.wait(0.0):
            sum(range(1000))

    monkeypatch.setattr(rerun_fairness, "_run_thread", compute)
    monkeypatch.setattr(rerun_fairness, "_start", lambda runner: thread.start())
    runner = object.__new__(ScriptRunner)
    thread = threading.Thread(target=rerun_fairness._run_charged, args=(runner,))
    account = shares.open(ATTACKER)
    token = ACCOUNT.set(account)
    rerun_fairness._start_charged(runner)
    ACCOUNT.reset(token)
    try:
        while not measured or measured[-1] < 0.05:
            shares.may_start(account)
            measured.append(account.seconds(shares._clock()))
    finally:
        seen.set()
        thread.join()
    assert account.threads == 0 and account.seconds(shares._clock()) > 0.04
