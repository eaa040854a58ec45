"""Where runs are trained: worker processes on this machine, as many as it has cores, and a queue before them.

One object per server, safe to use from every visit's thread. The workers read from a pipe that only the server
holds, so they end when it ends, whichever way it does.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from vitviz.training.files import write_status
from vitviz.training.runs import Run, RunConfig, RunError

STOP_GRACE_S = 10.0
QUEUED_PER_OWNER = 4
PROJECT = Path(__file__).resolve().parents[2]


class ExecutorError(Exception):
    """A run that cannot be taken now; one sentence says why."""


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    follower: threading.Thread = field(default_factory=threading.Thread)  # reads its replies
    ready: bool = False
    directory: Path | None = None  # of the run that it trains
    owner: str = ""


@dataclass(frozen=True)
class _Waiting:
    directory: Path
    owner: str
    control_at: int  # commands before this byte were for an earlier trainer


class LocalExecutor:
    """Trains runs under `root` in worker processes.

    Args:
        root: the runs' folder; made where it is missing.
        slots: how many runs train at once; None: as many as there are cores.
        warm: keep one idle worker loaded, so that a run starts at once.
    """

    def __init__(self, root: str | Path, slots: int | None = None, warm: bool = True) -> None:
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.slots = slots if slots is not None else max(1, os.cpu_count() or 1)
        if self.slots < 1:
            raise ValueError(f"slots must be at least 1, received {self.slots}")
        self._per_owner = max(1, self.slots - 1)  # one visitor cannot take every place
        self._warm = warm
        self._lock = threading.RLock()
        self._workers: list[_Worker] = []
        self._queue: list[_Waiting] = []
        self._closed = False
        if warm:
            self.warm_up()

    def warm_up(self) -> None:
        """Load a worker now, in the background, where none is idle and there is a place for one."""
        with self._lock:
            idle = any(worker.directory is None for worker in self._workers)
            if not self._closed and not idle and len(self._workers) < self.slots:
                self._spawn()

    def ready(self) -> bool:
        """Whether an idle worker is loaded and waits."""
        with self._lock:
            return any(worker.ready and worker.directory is None for worker in self._workers)

    def start(self, config: RunConfig) -> Run:
        """Create a run and submit it.

        Raises:
            ExecutorError: if its owner has too many waiting.
        """
        with self._lock:
            self._check_owner(config.owner)
            run = Run.create(self.root, config)
            run.touch_lease()
            self.submit(run)
        return run

    def submit(self, run: Run) -> None:
        """Train a run, from its last save where it has one; waits in the queue while every place is taken.

        Raises:
            ExecutorError: if it is already being trained, or its owner has too many waiting.
        """
        owner = run.config().owner
        with self._lock:
            if run.status().active and self._known(run.directory):
                raise ExecutorError("the run is already being trained")
            self._check_owner(owner)
            run.touch_lease()
            _mark(run, "queued", "")
            self._queue.append(_Waiting(run.directory, owner, run.control_end()))
            self._dispatch()

    def stop(self, run: Run) -> None:
        """End a run, queued or training; it keeps what it has and can be resumed."""
        with self._lock:
            waiting = [entry for entry in self._queue if entry.directory == run.directory]
            if waiting:
                self._queue.remove(waiting[0])
                _mark(run, "stopped", "taken out of the queue")
                return
            worker = self._worker_of(run.directory)
        if worker is None:
            return
        run.control("stop")
        timer = threading.Timer(STOP_GRACE_S, self._kill_if_still_on, (worker, run.directory))
        timer.daemon = True
        timer.start()

    def pause(self, run: Run) -> None:
        """Hold a run before its next record."""
        run.control("pause")

    def step(self, run: Run) -> None:
        """Let a run make one more record, then hold."""
        run.control("step")

    def resume(self, run: Run) -> None:
        """Go on: at once where the trainer waits, from the last save where it has ended.

        Raises:
            ExecutorError: as `submit`.
        """
        with self._lock:
            if self._known(run.directory):
                run.control("resume")
            else:
                self.submit(run)

    def place(self, run: Run) -> int | None:
        """1 for the next in the queue; None for a run that does not wait."""
        with self._lock:
            for index, entry in enumerate(self._queue):
                if entry.directory == run.directory:
                    return index + 1
        return None

    def running(self) -> list[str]:
        """Ids of the runs that have a worker."""
        with self._lock:
            return [worker.directory.name for worker in self._workers if worker.directory is not None]

    def process_ids(self) -> list[int]:
        """Of all workers, idle ones too."""
        with self._lock:
            return [worker.process.pid for worker in self._workers]

    def close(self) -> None:
        """End all workers; their runs can be resumed later."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            workers = list(self._workers)
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.follower.join()

    def _known(self, directory: Path) -> bool:
        return self._worker_of(directory) is not None or any(e.directory == directory for e in self._queue)

    def _worker_of(self, directory: Path) -> _Worker | None:
        return next((worker for worker in self._workers if worker.directory == directory), None)

    def _check_owner(self, owner: str) -> None:
        waiting = sum(entry.owner == owner for entry in self._queue)
        if waiting >= QUEUED_PER_OWNER:
            raise ExecutorError(f"you have {waiting} runs waiting already; stop one of them first")

    def _dispatch(self) -> None:
        """Give waiting runs to idle workers, oldest first; owners at their limit let others pass."""
        with self._lock:
            for entry in list(self._queue):
                busy = [worker for worker in self._workers if worker.directory is not None]
                mine = sum(worker.owner == entry.owner for worker in busy)
                if self._closed or len(busy) >= self.slots:
                    break
                if mine >= self._per_owner:
                    continue
                worker = next((w for w in self._workers if w.directory is None), None) or self._spawn()
                self._queue.remove(entry)
                self._order(worker, entry)
            if self._warm:
                self.warm_up()

    def _order(self, worker: _Worker, entry: _Waiting) -> None:
        worker.directory, worker.owner = entry.directory, entry.owner
        with contextlib.suppress(BrokenPipeError, OSError):  # its death is seen by its reader
            pipe = worker.process.stdin
            if pipe is not None:
                pipe.write(json.dumps({"run": str(entry.directory), "control_at": entry.control_at}) + "\n")
                pipe.flush()

    def _spawn(self) -> _Worker:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, _paths()))}
        process = subprocess.Popen(
            [sys.executable, "-m", "vitviz.training.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        worker = _Worker(process)
        self._workers.append(worker)
        worker.follower = threading.Thread(target=self._follow, args=(worker,), daemon=True)
        worker.follower.start()
        return worker

    def _follow(self, worker: _Worker) -> None:
        """Read a worker's replies until it ends, then see to what it left."""
        if worker.process.stdout is not None:
            for line in worker.process.stdout:
                reply = json.loads(line)
                with self._lock:
                    if "ready" in reply:
                        worker.ready = True
                    else:
                        worker.directory, worker.owner = None, ""
                        self._retire_surplus(worker)
                        self._dispatch()
        code = worker.process.wait()
        _close_pipes(worker.process)
        with self._lock:
            left, worker.directory = worker.directory, None
            if worker in self._workers:
                self._workers.remove(worker)
            if left is not None:
                _mark_dead(left, code)
            if not self._closed and (
                worker.ready or self._queue
            ):  # one that never became ready would die again
                self._dispatch()

    def _retire_surplus(self, worker: _Worker) -> None:
        """Keep at most one idle worker, unless somebody waits for it."""
        idle = [other for other in self._workers if other.directory is None]
        if len(idle) > 1 and not self._queue:
            self._workers.remove(worker)
            if worker.process.stdin is not None:
                worker.process.stdin.close()

    def _kill_if_still_on(self, worker: _Worker, directory: Path) -> None:
        with self._lock:
            if worker.directory == directory:
                worker.process.kill()


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what was still to be written is for nobody
                pipe.close()


def _paths() -> list[str]:
    return [str(PROJECT), os.environ.get("PYTHONPATH", "")]


def _mark(run: Run, state: str, message: str) -> None:
    status = replace(run.status(), state=state, message=message, heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(status))


def _mark_dead(directory: Path, code: int) -> None:
    """A worker died over its run: the executor writes the last word that the trainer could not."""
    with contextlib.suppress(RunError, OSError):
        run = Run(directory)
        how = f"killed by signal {-code}" if code < 0 else f"it ended with code {code}"
        _mark(run, "interrupted", f"the trainer's process is gone ({how}); resume goes on from the last save")
