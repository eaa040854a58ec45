"""Train runs on a Dask cluster that shares the runs' folder.

Every task starts one worker process, so that torch's random state and threads belong to one run. Dask repeats a task
whose machine was lost; the repetition marks the run as interrupted, and the user can resume it.
"""

import logging
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from vitviz.training import run_lock
from vitviz.training.executor import Executor, ExecutorError, mark_dead
from vitviz.training.queue_order import QueuedTraining
from vitviz.training.run_directory import Run, RunError
from vitviz.training.trainer_process import TrainerProcess

CONNECT_S = 5.0
COUNT_S = 2.0  # maximum age of the slot count
LOST = "The machine that trained this run was lost"
_processes: dict[str, TrainerProcess] = {}  # on a cluster machine: run directory -> its worker


class DaskExecutor(Executor):
    """Trains runs on a cluster, one per worker thread; connects when the first run starts.

    Args:
        root: the runs' folder, mounted at the same path on the cluster.
        address: scheduler address, such as 'tcp://10.0.0.1:8786'.
    """

    def __init__(self, root: str | Path, address: str) -> None:
        super().__init__(root)
        self.address = address
        self._client: Any = None
        self._tasks: dict[Path, tuple[QueuedTraining, Any]] = {}
        self._counted = (0, float("-inf"))
        self._counting = self._silent = False

    def queue_position(self, run: Run) -> int | None:
        """Return the position in the queue, from 1; starts runs if machines have joined."""
        self._dispatch()
        return super().queue_position(run)

    def resume(self, run: Run, address: str = "") -> None:
        """Continue a run; one that the cluster lost is submitted again."""
        with self._lock:
            if run.status().has_ended:
                self._forget(run.directory)
            super().resume(run, address)

    def close(self) -> None:
        """Disconnect from the cluster; a running task stops when its lease expires."""
        super().close()
        if self._client is not None:
            self._client.close(timeout=CONNECT_S)

    def _check(self, owner: str, address: str) -> None:
        super()._check(owner, address)
        self._connect()
        self._count_slots()
        if reason := self.trouble():
            raise ExecutorError(reason)

    def trouble(self) -> str:
        """Return an error if the cluster does not respond; empty otherwise."""
        return f"the Dask cluster at {self.address} does not respond" if self._silent else ""

    def _connect(self) -> None:
        if self._client is not None and self._client.status == "running":
            return
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise ExecutorError(
                "$VITVIZ_DASK is set, but the package 'distributed' is not installed: run `pip install distributed`"
            ) from error
        try:
            self._client = distributed.Client(self.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            self._silent = True
            raise ExecutorError(self.trouble()) from error
        self._silent = False

    def _count_slots(self) -> int:
        """Return the cached slot count; a thread refreshes it, so that a hanging scheduler blocks no page."""
        slots, counted = self._counted
        if time.monotonic() - counted > COUNT_S and not self._counting:
            self._counting = True
            threading.Thread(target=self._count, daemon=True).start()
        return slots

    def _count(self) -> None:
        slots = 0
        try:
            self._connect()  # reconnects if the scheduler is back
            client = self._client
            slots = sum(client.sync(client.scheduler.ncores, callback_timeout=CONNECT_S).values())
            self._silent = False
        except Exception:  # a lost scheduler raises various errors; runs stay queued
            logging.getLogger(__name__).warning("the cluster at %s does not respond", self.address)
            self._silent = True
        with self._lock:
            self._counted = (slots, time.monotonic())  # not refreshed before COUNT_S
            self._counting = False
            if slots and not self._closed.is_set():
                self._dispatch()

    def _busy(self) -> dict[Path, QueuedTraining]:
        return {directory: order for directory, (order, _) in self._tasks.items()}

    def _launch(self, order: QueuedTraining) -> None:
        task = self._client.submit(train_on_worker, order, pure=False, retries=0)
        self._tasks[order.directory] = (order, task)
        task.add_done_callback(lambda done: self._finish_task(order, done))

    def _kill(self, order: QueuedTraining) -> None:
        self._client.run(kill_on_worker, str(order.directory), wait=False)

    def _forget(self, directory: Path) -> None:
        order, task = self._tasks.pop(directory, (None, None))
        if task is not None:
            task.cancel()
        if order is not None:
            run_lock.release(directory, order.token)

    def _finish_task(self, order: QueuedTraining, done: Any) -> None:
        """Handle the end of a task, in a thread of Dask."""
        with self._lock:
            if self._busy().get(order.directory) is not order:
                return  # the run was submitted again
            del self._tasks[order.directory]
            if done.status == "finished":
                failure = done.result()
            elif done.status == "error":
                failure = f"The cluster could not train the run ({done.exception()!r})"
            else:
                failure = "The cluster's scheduler was lost"
            if failure is not None:
                mark_dead(order, failure)
            self._dispatch()


def train_on_worker(order: QueuedTraining) -> str | None:
    """Train a run in a separate process on a cluster machine; returns an error, or None."""
    directory = str(order.directory)
    try:
        state = Run(order.directory).status().state
    except RunError:
        return f"The cluster cannot read the runs' folder {order.directory.parent}: mount it at the same path"
    if state == "stopped":  # stopped while it was queued
        return None
    if state != "queued":
        return LOST
    process = _processes[directory] = TrainerProcess()
    process.send_order(order)
    try:
        if any("finished" in reply for reply in process.replies()):
            return None
        process.wait()
        return process.describe_death(order.directory)
    finally:
        del _processes[directory]
        process.close_pipes()
        process.wait()
        process.reap()


def kill_on_worker(directory: str) -> None:
    """Kill the process that trains a run, if it is on this machine."""
    process = _processes.get(directory)
    if process is not None:
        process.kill()
