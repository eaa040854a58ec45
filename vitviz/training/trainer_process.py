"""Control a trainer process from its parent: send orders, read replies, report how it ended."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vitviz.text import cut
from vitviz.training.atomic_files import write_whole
from vitviz.training.queue_order import QueuedTraining

LOG = "trainer.log"  # in the directory of a run whose trainer died
KEPT_LINES = 100
LINE_CHARS = 400
MOST_ERROR_CHARS = 160  # of its last line, in the error message
_COMMAND = (sys.executable, "-m", "vitviz.training.worker")
_PATH = re.compile(r"(?:/[^\s/'\":]+)+/")  # paths of the server are not shown
_PROJECT = Path(__file__).resolve().parents[2]
_LAST_WORDS_S = 5.0  # to drain its pipe, which a child process may hold open


class TrainerProcess:
    """A process that reads orders from stdin; see `worker`.

    Its stderr is read continuously, since a full pipe would block it; the last `KEPT_LINES` lines are kept.
    """

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, (str(_PROJECT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": paths},
        )
        self._code: int | None = None  # exit code, or minus the signal that killed it
        self._log_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send_order(self, order: QueuedTraining) -> None:
        """Send a run to train."""
        message = {"run": str(order.directory), "control_at": order.control_at, "claim": order.token}
        with contextlib.suppress(BrokenPipeError, OSError):  # the reader of its replies notices its death
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()

    def replies(self) -> Iterator[dict[str, Any]]:
        """Yield its replies until it ends."""
        for line in self._process.stdout or ():
            yield json.loads(line)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def close_pipes(self) -> None:
        """Close its pipes, so that it ends."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # unsent data is not needed
                    pipe.close()

    def dismiss(self) -> None:
        """Close its stdin, so that it ends; its remaining replies can be read."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it has ended and its stderr is read; on Linux its id stays taken until `reap`.

        A page that finds the id free shows the run as interrupted and does not look again for the cause.
        """
        if sys.platform == "linux":
            with contextlib.suppress(ChildProcessError):  # `kill` found it dead
                ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
                if ended is not None:
                    self._code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        if self._code is None:
            self._code = self._process.wait()
        self._listener.join(_LAST_WORDS_S)

    def reap(self) -> None:
        """Let the system forget the process, once the cause of its end is written."""
        self._process.wait()

    def describe_death(self, directory: Path | None) -> str:
        """Describe how the process ended, and store its last output in the run's directory."""
        lines, code = list(self._log_lines), self._code or 0
        if directory is not None and lines:
            with contextlib.suppress(OSError):  # a full disk, or the run was deleted
                write_whole(directory / LOG, "\n".join(lines).encode())
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        why = f": {cut(_PATH.sub('', lines[-1]), MOST_ERROR_CHARS)}" if code > 0 and lines else ""
        return f"The trainer process ended ({how}{why})"

    def _listen(self) -> None:
        """Read its stderr to the end, in pieces of at most `LINE_CHARS`."""
        stderr = self._process.stderr
        if stderr is None:
            return
        with stderr:
            while line := stderr.readline(LINE_CHARS):
                if line.strip():
                    self._log_lines.append(line.rstrip())
