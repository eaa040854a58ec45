"""Run trainings in worker processes, with a queue for those that wait.

One object per server, safe to use from every visit's thread. Two forms share the queue and the worker process: on this
machine, and on a Dask cluster that shares the runs' folder ($VITVIZ_DASK; see `dask_executor`). A worker reads from a
pipe that only its parent holds, so it ends when its parent ends, whichever way that does.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from vitviz.training import run_lock
from vitviz.training.files import write_status
from vitviz.training.queue_order import Order, in_turn, why_full
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.trainer_process import TrainerProcess

STOP_GRACE_S = 30.0  # a step on a busy machine takes its time
UNDER_WAY = ("starting", "running", "paused")
STOPPED_BEFORE_START = "stopped before its training began; resume starts it"


class ExecutorError(Exception):
    """A run that cannot be taken now; one sentence says why."""


class Executor(ABC):
    """Trains runs under `root`, as many at once as there are places; the others wait in fair turns.

    Several servers may share `root`: every run that waits or trains here is claimed (see `claim`), so that one server
    alone trains it.

    Args:
        root: the runs' folder; made where it is missing.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        with contextlib.suppress(OSError):  # whoever starts a run is told
            self.root.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._queue: list[Order] = []
        self._closed = threading.Event()
        self._beating = False

    def start(
        self, config: RunConfig, address: str = "", start: bytes | None = None, first: bool = False
    ) -> Run:
        """Create a run and submit it; one that asks for the free threads keeps what it gets now, also when resumed.

        Args:
            address: from where it is asked for, for fair turns; kept only while it waits and trains.
            start: the file of the weights that it begins with, as `Run.create` takes it.
            first: before all that wait.

        Raises:
            ExecutorError: if too many wait already, or there is nowhere to train.
        """
        with self._lock:
            self._check(config.owner, address)
            run = Run.create(self.root, config.on_threads(self._free_threads()), start=start)
            self.submit(run, address, first)
        return run

    def submit(self, run: Run, address: str = "", first: bool = False) -> None:
        """Train a run, from its last save where it has one; waits in the queue while every place is taken.

        Raises:
            ExecutorError: if it is already being trained, here or by another server, or as `start`.
        """
        owner = run.config().owner
        with self._lock:
            if run.status().active and self._known(run.directory):
                raise ExecutorError("the run is already being trained")
            self._check(owner, address)
            last = self._busy().get(run.directory)  # its trainer has yet to let go of it
            token = last.token if last is not None else run_lock.new_token()
            if not run_lock.claim_run(run.directory, token):
                raise ExecutorError("the run is already being trained by another server")
            run.touch_lease()
            mark(run, "queued", "")
            self._queue.append(Order(run.directory, owner, run.control_end(), address, token, first))
            self._beat()
            self._dispatch()

    def stop(self, run: Run) -> None:
        """End a run, queued or training; it keeps what it has and can be resumed."""
        with self._lock:
            waiting = [order for order in self._queue if order.directory == run.directory]
            if waiting:
                self._queue.remove(waiting[0])
                mark(run, "stopped", "taken out of the queue")
                run_lock.release(run.directory, waiting[0].token)
                return
            order = self._busy().get(run.directory)
            status = run.status()
            if not status.active:
                return
            run.control("stop")
            if status.state == "queued":  # its trainer is still loading, and will find the command
                mark(run, "stopped", STOPPED_BEFORE_START)
        if order is not None:
            timer = threading.Timer(STOP_GRACE_S, self._kill_if_still_on, (order,))
            timer.daemon = True
            timer.start()

    def pause(self, run: Run) -> None:
        """Hold a run before its next record."""
        run.control("pause")

    def step(self, run: Run) -> None:
        """Let a run make one more record, then hold."""
        run.control("step")

    def resume(self, run: Run, address: str = "") -> None:
        """Go on: at once where the trainer waits, from the last save where it has ended.

        Raises:
            ExecutorError: as `submit`.
        """
        with self._lock:
            if run.status().active and (self._known(run.directory) or run.status().state in UNDER_WAY):
                run.control("resume")
            else:
                self.submit(run, address)

    def place(self, run: Run) -> int | None:
        """1 for the next in the queue; None for a run that does not wait here."""
        with self._lock:
            for index, order in enumerate(in_turn(self._queue, self._busy().values())):
                if order.directory == run.directory:
                    return index + 1
        return None

    def trouble(self) -> str:
        """Why nothing that waits is taken up; empty where it is."""
        return ""

    def running(self) -> list[str]:
        """Return the ids of the runs that have a worker."""
        with self._lock:
            return [directory.name for directory in self._busy()]

    def close(self) -> None:
        """Take no more runs; those under way can be resumed later."""
        with self._lock:
            self._closed.set()
            for order in self._queue:
                run_lock.release(order.directory, order.token)
            self._queue.clear()

    def _known(self, directory: Path) -> bool:
        return directory in self._busy() or any(order.directory == directory for order in self._queue)

    def _check(self, owner: str, address: str) -> None:
        full = why_full(self._queue, owner, address)
        if full is not None:
            raise ExecutorError(full)

    def _beat(self) -> None:
        """Say every few seconds that this server lives, for what waits and trains here; one thread, begun once."""
        if not self._beating:
            self._beating = True
            threading.Thread(target=self._renew_claims, daemon=True).start()

    def _renew_claims(self) -> None:
        while not self._closed.wait(run_lock.BEAT_S):
            with self._lock:
                orders = [*self._queue, *self._busy().values()]
            for order in orders:
                run_lock.renew(order.directory, order.token)

    def _dispatch(self) -> None:
        """Give waiting runs to free places, in turn; owners at their limit let others pass."""
        with self._lock:
            places = self._places() if self._queue else 0
            for order in in_turn(self._queue, self._busy().values()) if self._queue else ():
                busy = self._busy()
                mine = sum(other.owner == order.owner for other in busy.values())
                if self._closed.is_set() or len(busy) >= places:
                    break
                if order.directory in busy:  # its last trainer has yet to let go of it
                    continue
                if mine < max(1, places - 1):  # one user cannot take every place
                    self._queue.remove(order)
                    self._launch(order)

    def _kill_if_still_on(self, order: Order) -> None:
        with self._lock:
            if self._busy().get(order.directory) is order:
                self._kill(order)

    @abstractmethod
    def _places(self) -> int:
        """Return how many runs train at once."""

    def _free_threads(self) -> int:
        """Return how many threads a run may have that asks for all."""
        return 1

    @abstractmethod
    def _busy(self) -> dict[Path, Order]:
        """Return the orders that are being trained, by directory."""

    @abstractmethod
    def _launch(self, order: Order) -> None:
        """Begin to train; there is a place for it."""

    @abstractmethod
    def _kill(self, order: Order) -> None:
        """End a trainer that does not obey."""


@dataclass
class _Worker:
    process: TrainerProcess
    follower: threading.Thread = field(default_factory=threading.Thread)  # reads its replies
    ready: bool = False
    order: Order | None = None  # that it trains


class LocalExecutor(Executor):
    """Trains runs in worker processes of this machine.

    Args:
        root: the runs' folder; made where it is missing.
        slots: how many runs train at once; None: as many as there are cores.
        warm: keep one idle worker loaded, so that a run starts at once.
    """

    def __init__(self, root: str | Path, slots: int | None = None, warm: bool = True) -> None:
        super().__init__(root)
        self.slots = slots if slots is not None else max(1, os.cpu_count() or 1)
        if self.slots < 1:
            raise ValueError(f"slots must be at least 1, received {self.slots}")
        self._warm = warm
        self._workers: list[_Worker] = []
        if warm:
            self.warm_up()

    def warm_up(self) -> None:
        """Load a worker now, in the background, where none is idle and there is a place for one."""
        with self._lock:
            idle = any(worker.order is None for worker in self._workers)
            if not self._closed.is_set() and not idle and len(self._workers) < self.slots:
                self._spawn()

    def ready(self) -> bool:
        """Return True if an idle worker is loaded and waits."""
        with self._lock:
            return any(worker.ready and worker.order is None for worker in self._workers)

    def process_ids(self) -> list[int]:
        """Process ids of all workers, idle ones too."""
        with self._lock:
            return [worker.process.pid for worker in self._workers]

    def close(self) -> None:
        """End all workers; their runs can be resumed later."""
        super().close()
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.follower.join()

    def _places(self) -> int:
        return self.slots

    def _free_threads(self) -> int:
        """One a place where no run trains or waits, also none of another server with the same folder; else one."""
        held = any(run_lock.is_held(path.parent) for path in self.root.glob("*/claim.json"))
        return 1 if held else self.slots

    def _busy(self) -> dict[Path, Order]:
        return {w.order.directory: w.order for w in self._workers if w.order is not None}

    def _dispatch(self) -> None:
        super()._dispatch()
        if self._warm:
            self.warm_up()

    def _launch(self, order: Order) -> None:
        worker = next((w for w in self._workers if w.order is None), None) or self._spawn()
        worker.order = order
        worker.process.give(order)

    def _kill(self, order: Order) -> None:
        for worker in self._workers:
            if worker.order is order:
                worker.process.kill()

    def _spawn(self) -> _Worker:
        worker = _Worker(TrainerProcess())
        self._workers.append(worker)
        worker.follower = threading.Thread(target=self._follow, args=(worker,), daemon=True)
        worker.follower.start()
        return worker

    def _follow(self, worker: _Worker) -> None:
        """Read a worker's replies until it ends, then see to what it left."""
        for reply in worker.process.replies():
            with self._lock:
                if "ready" in reply:
                    worker.ready = True
                else:
                    worker.order = None
                    self._retire_surplus(worker)
                    self._dispatch()
        worker.process.wait()
        with self._lock:
            left, worker.order = worker.order, None  # also one that it got while it died
            if worker in self._workers:
                self._workers.remove(worker)
            worker.process.let_go()
            if left is not None:
                mark_dead(left, worker.process.death(left.directory))
            # One that never became ready would die again.
            if not self._closed.is_set() and (worker.ready or self._queue):
                self._dispatch()

    def _retire_surplus(self, worker: _Worker) -> None:
        """Keep at most one idle worker, unless somebody waits for it."""
        idle = [other for other in self._workers if other.order is None]
        if len(idle) > 1 and not self._queue:
            self._workers.remove(worker)
            worker.process.dismiss()


# ---------------------------------------------------------------- what both forms do with a worker and with a run


def mark(run: Run, state: str, message: str) -> None:
    """Write how a run stands while no trainer does."""
    status = replace(run.status(), state=state, message=message, heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(status))


def mark_dead(order: Order, what: str) -> None:
    """A trainer died over its run: the executor writes the last word that the trainer could not."""
    if not run_lock.is_claimed_by(order.directory, order.token):  # given back, or another server's by now
        return
    with contextlib.suppress(RunError, OSError):
        run = Run(order.directory)
        if run.status().state not in ("done", "stopped"):  # else it had said its own
            mark(run, "interrupted", f"{what}; resume goes on from the last save")
    run_lock.release(order.directory, order.token)
