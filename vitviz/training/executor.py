"""Run trainings in worker processes, with a queue for those that wait.

One executor per server, safe to use from all threads. `LocalExecutor` trains on this machine, `DaskExecutor` on a
cluster that shares the runs' folder ($VITVIZ_DASK). A worker reads from a pipe that only its parent holds, so it ends
when its parent ends.
"""

import contextlib
import os
import shutil
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from vitviz.training import run_lock
from vitviz.training.atomic_files import write_status
from vitviz.training.queue_order import QueuedTraining, in_turn, why_full
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.trainer_process import TrainerProcess

STOP_GRACE_S = 30.0  # one step can be slow on a busy machine
UNDER_WAY = ("starting", "running", "paused")
STOPPED_BEFORE_START = "Stopped before training began. Resume to start it."


class ExecutorError(Exception):
    """A run that cannot be started now."""


class Executor(ABC):
    """Trains runs under `root`, as many at once as there are slots; the others wait in a fair queue.

    Several servers may share `root`: each run is locked (see `run_lock`), so that only one server trains it.

    Args:
        root: the runs' folder; created if missing.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        with contextlib.suppress(OSError):  # starting a run reports the error
            self.root.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._queue: list[QueuedTraining] = []
        self._closed = threading.Event()
        self._beating = False

    def start(
        self, config: RunConfig, address: str = "", start: bytes | None = None, first: bool = False
    ) -> Run:
        """Create a run and submit it; a run with threads=0 keeps the threads that it gets now, also when resumed.

        Args:
            address: client address, for fairness; kept only while the run waits or trains.
            start: file of its initial weights, see `Run.create`.
            first: put it at the head of the queue.

        Raises:
            ExecutorError: if the queue is full, or the cluster is unavailable.
        """
        with self._lock:
            self._check(config.owner, address)
            run = Run.create(self.root, config.on_threads(self._free_threads()), start=start)
            try:
                self.submit(run, address, first)
            except (ExecutorError, OSError):
                if all(order.directory != run.directory for order in self._queue):
                    shutil.rmtree(run.directory, ignore_errors=True)  # nobody would train it
                raise
        return run

    def submit(self, run: Run, address: str = "", first: bool = False, only_waiting: bool = False) -> None:
        """Queue a run; it continues from its last save if it has one.

        Args:
            only_waiting: refuse one that waits no longer, such as one that another server trained.

        Raises:
            ExecutorError: if it is already being trained, or as for `start`.
        """
        owner = run.config().owner
        with self._lock:
            if run.status().active and self._is_known(run.directory):
                raise ExecutorError("this run is already being trained")
            self._check(owner, address)
            last = self._busy().get(run.directory)  # its last trainer has not released it yet
            token = last.token if last is not None else run_lock.new_token()
            if not run_lock.claim_run(run.directory, token):
                raise ExecutorError("another server is already training this run")
            if only_waiting and run.status().state != "queued":
                run_lock.release(run.directory, token)
                raise ExecutorError("this run waits no longer")
            run.touch_lease()
            write_state(run, "queued", "")
            self._queue.append(QueuedTraining(run.directory, owner, run.control_end(), address, token, first))
            self._start_heartbeat()
            self._dispatch()

    def take_up_queued(self) -> list[Run]:
        """Queue the runs that waited in the queue of a server that has ended, and return them.

        Each is queued once, whichever servers on the folder try; one that this queue has no room for is left.
        """
        taken = []
        for run in find_abandoned(self.root):
            # It may have been taken by another server, or deleted, and there may be no room for it.
            with self._lock, contextlib.suppress(ExecutorError, RunError, OSError):
                if not self._is_known(run.directory):
                    self.submit(run, only_waiting=True)
                    taken.append(run)
        return taken

    def stop(self, run: Run) -> None:
        """Stop a queued or running run; it can be resumed."""
        with self._lock:
            waiting = [order for order in self._queue if order.directory == run.directory]
            if waiting:
                self._queue.remove(waiting[0])
                write_state(run, "stopped", "Removed from the queue.")
                run_lock.release(run.directory, waiting[0].token)
                return
            order = self._busy().get(run.directory)
            status = run.status()
            if not status.active:
                return
            run.control("stop")
            if status.state == "queued":  # its trainer is still loading and will read the command
                write_state(run, "stopped", STOPPED_BEFORE_START)
        if order is not None:
            timer = threading.Timer(STOP_GRACE_S, self._kill_if_still_on, (order,))
            timer.daemon = True
            timer.start()

    def pause(self, run: Run) -> None:
        """Pause a run before its next record."""
        run.control("pause")

    def step(self, run: Run) -> None:
        """Train until the next record, then pause."""
        run.control("step")

    def resume(self, run: Run, address: str = "") -> None:
        """Continue a paused run, or restart an ended one from its last save.

        Raises:
            ExecutorError: as for `submit`.
        """
        with self._lock:
            if run.status().active and (self._is_known(run.directory) or run.status().state in UNDER_WAY):
                run.control("resume")
            else:
                self.submit(run, address)

    def queue_position(self, run: Run) -> int | None:
        """Return the position in the queue, from 1; None for a run that is not queued here."""
        with self._lock:
            for index, order in enumerate(in_turn(self._queue, self._busy().values())):
                if order.directory == run.directory:
                    return index + 1
        return None

    def trouble(self) -> str:
        """Return why queued runs cannot start; empty if they can."""
        return ""

    def running(self) -> list[str]:
        """Return the ids of the runs that have a worker."""
        with self._lock:
            return [directory.name for directory in self._busy()]

    def close(self) -> None:
        """Accept no more runs; running ones can be resumed later, and another server takes up queued ones."""
        with self._lock:
            self._closed.set()
            self._queue.clear()  # their locks become stale

    def _is_known(self, directory: Path) -> bool:
        return directory in self._busy() or any(order.directory == directory for order in self._queue)

    def _check(self, owner: str, address: str) -> None:
        reason = why_full(self._queue, owner, address)
        if reason is not None:
            raise ExecutorError(reason)

    def _start_heartbeat(self) -> None:
        """Start the thread that renews the locks of queued and running runs, once."""
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
        """Start queued runs in free slots, in turn; owners at their limit are skipped."""
        with self._lock:
            slots = self._count_slots() if self._queue else 0
            for order in in_turn(self._queue, self._busy().values()) if self._queue else ():
                busy = self._busy()
                running = sum(other.owner == order.owner for other in busy.values())
                if self._closed.is_set() or len(busy) >= slots:
                    break
                if order.directory in busy:  # its last trainer has yet to let go of it
                    continue
                if running < max(1, slots - 1):  # one user cannot take every slot
                    self._queue.remove(order)
                    self._launch(order)

    def _kill_if_still_on(self, order: QueuedTraining) -> None:
        with self._lock:
            if self._busy().get(order.directory) is order:
                self._kill(order)

    @abstractmethod
    def _count_slots(self) -> int:
        """Return how many runs train at once."""

    def _free_threads(self) -> int:
        """Return the number of threads for a run that requests all free ones."""
        return 1

    @abstractmethod
    def _busy(self) -> dict[Path, QueuedTraining]:
        """Return the running orders by directory."""

    @abstractmethod
    def _launch(self, order: QueuedTraining) -> None:
        """Start training; a slot is free."""

    @abstractmethod
    def _kill(self, order: QueuedTraining) -> None:
        """Kill a trainer that ignores the stop command."""


@dataclass
class _Worker:
    process: TrainerProcess
    follower: threading.Thread = field(default_factory=threading.Thread)  # reads its replies
    ready: bool = False
    order: QueuedTraining | None = None  # being trained


class LocalExecutor(Executor):
    """Trains runs in worker processes of this machine.

    Args:
        root: the runs' folder; created if missing.
        slots: number of runs trained at once; None: number of cores.
        warm: keep one idle worker loaded, so that a run starts immediately.
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
        """Load a worker in the background unless one is idle or all slots are taken."""
        with self._lock:
            idle = any(worker.order is None for worker in self._workers)
            if not self._closed.is_set() and not idle and len(self._workers) < self.slots:
                self._spawn()

    def ready(self) -> bool:
        """Return True if an idle worker is loaded."""
        with self._lock:
            return any(worker.ready and worker.order is None for worker in self._workers)

    def process_ids(self) -> list[int]:
        """Return the process ids of all workers."""
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

    def _count_slots(self) -> int:
        return self.slots

    def _free_threads(self) -> int:
        """Return one thread per slot if no server on this folder trains or queues a run, else 1."""
        held = any(map(run_lock.is_held, run_lock.list_locked(self.root)))
        return 1 if held else self.slots

    def _busy(self) -> dict[Path, QueuedTraining]:
        return {w.order.directory: w.order for w in self._workers if w.order is not None}

    def _dispatch(self) -> None:
        super()._dispatch()
        if self._warm:
            self.warm_up()

    def _launch(self, order: QueuedTraining) -> None:
        worker = next((w for w in self._workers if w.order is None), None) or self._spawn()
        worker.order = order
        worker.process.send_order(order)

    def _kill(self, order: QueuedTraining) -> None:
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
        """Read a worker's replies until it ends, then mark its run as interrupted."""
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
            left, worker.order = worker.order, None  # includes an order sent while it was dying
            if worker in self._workers:
                self._workers.remove(worker)
            worker.process.close_pipes()
            if left is not None:
                mark_dead(left, worker.process.describe_death(left.directory))
            worker.process.reap()
            # A worker that never became ready would die again.
            if not self._closed.is_set() and (worker.ready or self._queue):
                self._dispatch()

    def _retire_surplus(self, worker: _Worker) -> None:
        """Keep at most one idle worker unless runs are queued."""
        idle = [other for other in self._workers if other.order is None]
        if len(idle) > 1 and not self._queue:
            self._workers.remove(worker)
            worker.process.dismiss()


def find_abandoned(root: Path) -> list[Run]:
    """Return the runs that wait in the queue of a server that has ended, the longest waiting first."""
    waiting = []
    for directory in run_lock.list_locked(root):
        run = Run(directory)
        status = run.status()
        if status.state == "queued" and not run_lock.is_held(directory):
            waiting.append((status.heartbeat, run.id, run))
    return [run for *_, run in sorted(waiting, key=lambda entry: entry[:2])]


def write_state(run: Run, state: str, message: str) -> None:
    """Write the state of a run that no trainer works on."""
    status = replace(run.status(), state=state, message=message, heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(status))


def mark_dead(order: QueuedTraining, cause: str) -> None:
    """Write the final status of a run whose trainer died."""
    if not run_lock.is_claimed_by(order.directory, order.token):  # released, or locked by another server
        return
    with contextlib.suppress(RunError, OSError):
        run = Run(order.directory)
        if run.status().state not in ("done", "stopped"):  # otherwise the trainer wrote its final state
            write_state(run, "interrupted", f"{cause}. Resume to continue from the last save.")
    run_lock.release(order.directory, order.token)
