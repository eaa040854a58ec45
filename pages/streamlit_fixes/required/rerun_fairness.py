"""Share script time fairly, so that a connection whose reruns cost much waits for the others.

All scripts of the server share one interpreter lock. When several run, the next rerun is that of the connection which
has used the least script time lately and has asked for the fewest reruns.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from pages.stores.session import get_network
from pages.streamlit_fixes.installation import FunctionReplacement, apply

DECAY_S = 10.0  # script time is forgotten with this time constant
_CORES = os.cpu_count() or 1
MAX_RUNS = _CORES + 2  # that compute at once; more would only take turns
# Charged for each rerun that is asked for: a user with a page per second goes before an attacker with 29, who would
# else have as large a share.
ASK_S = 0.02
ASK_FRAGMENT_S = 0.002  # pages poll with up to ten per second
MAX_THREADS = 2  # of an account: the run that a user waits for, and the one that it replaces
THREAD_WAIT_S = 5.0  # then a further one: a script may wait for a disk
MAX_WAIT_S = 10.0
LONG_S = 1.0  # of processor time: who has used more makes room for others
MAX_LONG_RUNS = max(1, _CORES - 1)  # of theirs at once, beside MAX_RUNS of others
IDLE_S = 0.2  # a run without processor time for so long waits for something
_PROGRESS_S = 0.001
_NEGLIGIBLE_S = 0.02
ACCOUNT: ContextVar[Account | None] = ContextVar("vitviz_script_account", default=None)
_RUN = "_vitviz_run"  # attribute of a script runner
_start = ScriptRunner.start
_run_thread = ScriptRunner._run_script_thread


@dataclass(eq=False)
class Account:
    """The recent script time of one connection."""

    network: str
    is_open: bool = True
    threads: int = 0  # scripts that run
    waiting_since: float | None = None
    wake: Callable[[], None] = field(default=lambda: None, repr=False)  # called when it should ask again
    _seconds: float = 0.0
    _at: float = 0.0

    def seconds(self, now_s: float) -> float:
        """Return the recent script time in seconds of processor time."""
        return self._seconds * math.exp((self._at - now_s) / DECAY_S)

    def add(self, seconds: float, now_s: float) -> None:
        self._seconds, self._at = self.seconds(now_s) + seconds, now_s


@dataclass(eq=False)
class ScriptRun:
    """One thread of a script."""

    account: Account
    clock: int | None = None  # of the thread's processor time, while it runs
    charged_s: float = 0.0
    progressed_at: float = 0.0


class ScriptShares:
    """The accounts of a server; every method may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: set[Account] = set()
        self._runs: set[ScriptRun] = set()

    def open(self, address: str) -> Account:
        """Return the account of a new connection: of those that its network has closed, the one that used most."""
        network, now_s = get_network(address), self._clock()
        with self._lock:
            closed = [account for account in self._accounts if not account.is_open]
            self._accounts.difference_update(
                account
                for account in closed
                if not account.threads and account.seconds(now_s) < _NEGLIGIBLE_S
            )
            account = max(
                (account for account in closed if account.network == network),
                key=lambda account: (account.threads, account.seconds(now_s)),
                default=Account(network),
            )
            account.is_open = True
            self._accounts.add(account)
            return account

    def close(self, account: Account) -> None:
        with self._lock:
            account.is_open, account.waiting_since = False, None
            self._wake_next()

    def ask(self, account: Account, is_fragment: bool = False) -> None:
        """Charge for a rerun that a client asks for, whether it is run or replaced by a later one."""
        with self._lock:
            account.add(ASK_FRAGMENT_S if is_fragment else ASK_S, self._clock())

    def start(self, account: Account) -> ScriptRun:
        """Note that a script of the account starts."""
        run = ScriptRun(account, progressed_at=self._clock())
        with self._lock:
            account.threads += 1
            self._runs.add(run)
        return run

    def finish(self, run: ScriptRun, seconds: float) -> None:
        """Note that a script ended after so much processor time; called by its thread, whose clock then ends."""
        with self._lock:
            self._charge(run, seconds)
            self._runs.remove(run)
            run.account.threads -= 1
            self._wake_next()

    def _charge(self, run: ScriptRun, seconds: float) -> None:
        if seconds - run.charged_s > _PROGRESS_S:
            run.progressed_at = self._clock()
            run.account.add(seconds - run.charged_s, run.progressed_at)
            run.charged_s = seconds

    def _charge_running(self) -> None:
        for run in self._runs:
            if run.clock is not None:
                self._charge(run, time.clock_gettime(run.clock))

    def is_busy(self) -> bool:
        """Return True if a script computes."""
        with self._lock:
            self._charge_running()
            return bool(self._list_computing(self._clock()))

    def _list_computing(self, now_s: float) -> list[Account]:
        return [run.account for run in self._runs if now_s - run.progressed_at < IDLE_S]

    def may_start(self, account: Account) -> bool:
        """Return True if a rerun of the account may start now; else it waits, and asks again."""
        now_s = self._clock()
        with self._lock:
            self._charge_running()
            if account.waiting_since is None:
                account.waiting_since = now_s
            if not self._has_room(account, now_s - account.waiting_since, now_s):
                return False
            account.waiting_since = None
            self._wake_next()
            return True

    def _has_room(self, account: Account, waited_s: float, now_s: float) -> bool:
        if waited_s >= MAX_WAIT_S:
            return True
        if account.threads >= MAX_THREADS:
            return waited_s >= THREAD_WAIT_S
        seconds = account.seconds(now_s)
        if any(other.seconds(now_s) < seconds for other in self._waiting()):
            return False
        busy = self._list_computing(now_s)
        if seconds > LONG_S:
            others = [other for other in busy if other is not account]
            return len(others) < _CORES and self._count_long(others, now_s) < MAX_LONG_RUNS
        return len(busy) - self._count_long(busy, now_s) < MAX_RUNS

    @staticmethod
    def _count_long(accounts: list[Account], now_s: float) -> int:
        return sum(account.seconds(now_s) > LONG_S for account in accounts)

    def _waiting(self) -> list[Account]:
        return [
            account
            for account in self._accounts
            if account.waiting_since is not None and account.threads < MAX_THREADS
        ]

    def _wake_next(self) -> None:
        """Have the account that has used least ask again."""
        if waiting := self._waiting():
            now_s = self._clock()
            min(waiting, key=lambda account: account.seconds(now_s)).wake()


SHARES = ScriptShares()  # of this server


def install() -> None:
    """Charge the account of the websocket that a script is run for; repeated calls do nothing."""
    apply(
        FunctionReplacement(ScriptRunner, "start", "self", _start_charged),
        FunctionReplacement(ScriptRunner, "_run_script_thread", "self", _run_charged),
    )


def _start_charged(runner: ScriptRunner) -> None:
    account = ACCOUNT.get()
    run = runner.__dict__[_RUN] = None if account is None else SHARES.start(account)
    try:
        _start(runner)
    except BaseException:
        if run is not None:
            SHARES.finish(run, 0.0)
        raise


def _run_charged(runner: ScriptRunner) -> None:
    run: ScriptRun | None = runner.__dict__.get(_RUN)
    ACCOUNT.set(None if run is None else run.account)  # a thread does not inherit it
    if run is not None and hasattr(time, "pthread_getcpuclockid"):  # else it is charged at its end
        run.clock = time.pthread_getcpuclockid(threading.get_ident())
    try:
        _run_thread(runner)
    finally:
        if run is not None:
            SHARES.finish(run, time.thread_time())
