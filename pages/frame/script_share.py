"""Share script time fairly, so that a connection whose reruns cost much waits for the others.

All scripts of the server share one interpreter lock. When several run, the next rerun is that of the connection which
has used the least script time lately.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from pages.stores.session import get_network
from pages.streamlit_fixes.replacement import Replacement, apply

DECAY_S = 10.0  # script time is forgotten with this time constant
MAX_RUNS = (os.cpu_count() or 1) + 2  # that compute at once; more would only take turns
MAX_THREADS = 2  # of an account: the run that a user waits for, and the one that it replaces
THREAD_WAIT_S = 5.0  # then a further one: a script may wait for a disk
MAX_WAIT_S = 10.0
LONG_S = 1.0  # of processor time: a run that takes longer makes room for short ones
MAX_LONG_RUNS = 2  # beside which an account that has used LONG_S lately starts no other
IDLE_S = 1.0  # a run without processor time for so long waits for something
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
    _seconds: float = 0.0
    _at: float = 0.0

    def seconds(self, now_s: float) -> float:
        """Return the recent script time in seconds of processor time."""
        return self._seconds * math.exp((self._at - now_s) / DECAY_S)

    def add(self, seconds: float, now_s: float) -> None:
        self._seconds, self._at = self.seconds(now_s) + seconds, now_s


@dataclass(eq=False)
class Run:
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
        self._runs: set[Run] = set()

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

    def start(self, account: Account) -> Run:
        """Note that a script of the account starts."""
        run = Run(account, progressed_at=self._clock())
        with self._lock:
            account.threads += 1
            self._runs.add(run)
        return run

    def finish(self, run: Run, seconds: float) -> None:
        """Note that a script ended after so much processor time; called by its thread, whose clock then ends."""
        with self._lock:
            self._charge(run, seconds)
            self._runs.remove(run)
            run.account.threads -= 1

    def _charge(self, run: Run, seconds: float) -> None:
        if seconds - run.charged_s > _PROGRESS_S:
            run.progressed_at = self._clock()
            run.account.add(seconds - run.charged_s, run.progressed_at)
            run.charged_s = seconds

    def may_start(self, account: Account) -> bool:
        """Return True if a rerun of the account may start now; else it waits, and asks again."""
        now_s = self._clock()
        with self._lock:
            for run in self._runs:
                if run.clock is not None:
                    self._charge(run, time.clock_gettime(run.clock))
            if account.waiting_since is None:
                account.waiting_since = now_s
            if not self._has_room(account, now_s - account.waiting_since, now_s):
                return False
            account.waiting_since = None
            return True

    def _has_room(self, account: Account, waited_s: float, now_s: float) -> bool:
        if waited_s >= MAX_WAIT_S:
            return True
        if account.threads >= MAX_THREADS:
            return waited_s >= THREAD_WAIT_S
        seconds = account.seconds(now_s)
        if any(
            other.waiting_since is not None and other.threads < MAX_THREADS and other.seconds(now_s) < seconds
            for other in self._accounts
        ):
            return False
        busy = [run for run in self._runs if now_s - run.progressed_at < IDLE_S]
        long = sum(run.charged_s > LONG_S for run in busy)
        return len(busy) - long < MAX_RUNS and (seconds <= LONG_S or long < MAX_LONG_RUNS)


SHARES = ScriptShares()  # of this server


def install() -> None:
    """Charge the account of the websocket that a script is run for; repeated calls do nothing."""
    apply(
        Replacement(ScriptRunner, "start", "self", _start_charged),
        Replacement(ScriptRunner, "_run_script_thread", "self", _run_charged),
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
    run: Run | None = runner.__dict__.get(_RUN)
    if run is not None and hasattr(time, "pthread_getcpuclockid"):  # else it is charged at its end
        run.clock = time.pthread_getcpuclockid(threading.get_ident())
    try:
        _run_thread(runner)
    finally:
        if run is not None:
            SHARES.finish(run, time.thread_time())
