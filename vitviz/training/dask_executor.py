"""Runs on a Dask cluster that shares the runs' folder: the same queue, the same worker process, on other machines.

Every task holds one worker process: torch's random state and threads are then a run's own, whatever else the machine
does. Dask repeats a task whose machine is gone; here the repetition says so and leaves going on to the user.
"""

from __future__ import annotations

import logging
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from vitviz.training import run_lock
from vitviz.training.executor import Executor, ExecutorError, mark_dead
from vitviz.training.queue_order import Order
from vitviz.training.run_directory import Run, RunError
from vitviz.training.trainer_process import TrainerProcess

CONNECT_S = 5.0
COUNT_S = 2.0  # how old the number of the cluster's places may be
LOST = "the machine that trained it is gone"
_processes: dict[str, TrainerProcess] = {}  # on the cluster's side: directory -> its worker


class DaskExecutor(Executor):
    """Trains runs on a cluster, one per thread of its workers; it connects with the first run.

    Args:
        root: the runs' folder, which the cluster's machines see under the same path.
        address: of the scheduler, such as 'tcp://10.0.0.1:8786'.
    """

    def __init__(self, root: str | Path, address: str) -> None:
        super().__init__(root)
        self.address = address
        self._client: Any = None
        self._tasks: dict[Path, tuple[Order, Any]] = {}
        self._counted = (0, float("-inf"))
        self._counting = self._silent = False

    def place(self, run: Run) -> int | None:
        """1 for the next in the queue; None for a run that does not wait. Machines that joined take up runs."""
        self._dispatch()
        return super().place(run)

    def resume(self, run: Run, address: str = "") -> None:
        """As everywhere; a run that the cluster has lost is taken up anew."""
        with self._lock:
            if run.status().ended:
                self._forget(run.directory)
            super().resume(run, address)

    def close(self) -> None:
        """Let go of the cluster; a run whose task is under way is stopped by its lease."""
        super().close()
        if self._client is not None:
            self._client.close(timeout=CONNECT_S)

    def _check(self, owner: str, address: str) -> None:
        super()._check(owner, address)
        self._connect()
        self._places()
        if said := self.trouble():
            raise ExecutorError(said)

    def trouble(self) -> str:
        """Why nothing that waits is taken up; empty where the cluster answers."""
        return f"the Dask cluster at {self.address} does not answer" if self._silent else ""

    def _connect(self) -> None:
        if self._client is not None and self._client.status == "running":
            return
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise ExecutorError(
                "$VITVIZ_DASK names a cluster, but the package 'distributed' is not installed here"
            ) from error
        try:
            self._client = distributed.Client(self.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            self._silent = True
            raise ExecutorError(self.trouble()) from error
        self._silent = False

    def _places(self) -> int:
        """As last counted: a scheduler that hangs must hold no page, so a thread of its own asks."""
        places, counted = self._counted
        if time.monotonic() - counted > COUNT_S and not self._counting:
            self._counting = True
            threading.Thread(target=self._count, daemon=True).start()
        return places

    def _count(self) -> None:
        places = 0
        try:
            self._connect()  # anew, where a scheduler that was gone is back
            client = self._client
            places = sum(client.sync(client.scheduler.ncores, callback_timeout=CONNECT_S).values())
            self._silent = False
        except Exception:  # a scheduler that is gone raises of its own kinds; what waits goes on waiting
            logging.getLogger(__name__).warning("the cluster at %s does not answer", self.address)
            self._silent = True
        with self._lock:
            self._counted = (places, time.monotonic())  # nobody asks again before COUNT_S, whoever polls
            self._counting = False
            if places and not self._closed.is_set():
                self._dispatch()

    def _busy(self) -> dict[Path, Order]:
        return {directory: order for directory, (order, _) in self._tasks.items()}

    def _launch(self, order: Order) -> None:
        task = self._client.submit(train_on_worker, order, pure=False, retries=0)
        self._tasks[order.directory] = (order, task)
        task.add_done_callback(lambda done: self._ended(order, done))

    def _kill(self, order: Order) -> None:
        self._client.run(kill_on_worker, str(order.directory), wait=False)

    def _forget(self, directory: Path) -> None:
        order, task = self._tasks.pop(directory, (None, None))
        if task is not None:
            task.cancel()
        if order is not None:
            run_lock.release(directory, order.token)

    def _ended(self, order: Order, done: Any) -> None:
        """A task has come to its end, in a thread of Dask's."""
        with self._lock:
            if self._busy().get(order.directory) is not order:
                return  # forgotten: it was taken up anew
            del self._tasks[order.directory]
            if done.status == "finished":
                what = done.result()
            elif done.status == "error":
                what = f"the cluster could not train it ({done.exception()!r})"
            else:  # nobody asked for that
                what = "the cluster's scheduler is gone"
            if what is not None:
                mark_dead(order, what)
            self._dispatch()


def train_on_worker(order: Order) -> str | None:
    """Train a run in a process of its own, on the machine that Dask chose; None, or what became of it."""
    directory = str(order.directory)
    try:
        state = Run(order.directory).status().state
    except RunError:
        return f"the cluster does not see the runs' folder {order.directory.parent}"
    if state == "stopped":  # while it waited for this machine
        return None
    if state != "queued":
        return LOST
    process = _processes[directory] = TrainerProcess()
    process.give(order)
    try:
        if any("finished" in reply for reply in process.replies()):
            return None
        process.wait()
        return process.death(order.directory)
    finally:
        del _processes[directory]
        process.let_go()
        process.wait()


def kill_on_worker(directory: str) -> None:
    """End the process that trains a run, where it is on this machine."""
    process = _processes.get(directory)
    if process is not None:
        process.kill()
