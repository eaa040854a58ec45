"""A Dask cluster of processes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Cluster:
    """A scheduler and workers as processes of their own, as `dask scheduler` and `dask worker` start them."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """Start the scheduler with Dask's settings as environment variables name them: DASK_..."""
        self.folder, self.address, self.settings = folder, "", settings
        self.processes: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        self.add_scheduler()

    def add_scheduler(self) -> subprocess.Popen[bytes]:
        """The first on any port, later ones on the same."""
        port = self.address.rpartition(":")[2] or "0"
        self.file.unlink(missing_ok=True)
        options = [
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        ]
        process = self._open("distributed.cli.dask_scheduler", *options)
        while not (self.file.is_file() and self.file.stat().st_size):
            time.sleep(0.05)  # the test's own limit of time ends this
        self.address = json.loads(self.file.read_text())["address"]
        return process

    def add_worker(self, *guard: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; `guard` are the options of the nanny that restarts it, none by default."""
        options = [*(guard or ("--no-nanny", "--nthreads", "1")), "--no-dashboard", "--host", "127.0.0.1"]
        return self._open("distributed.cli.dask_worker", "--scheduler-file", str(self.file), *options)

    def _open(self, module: str, *options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *options],
            cwd=self.folder,
            env={**os.environ, **self.settings, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
