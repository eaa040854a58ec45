"""A trainer's process as its parent sees it: orders in, replies out, and what it says when it dies."""

from __future__ import annotations

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
from vitviz.training.files import write_whole
from vitviz.training.queue_order import Order

LOG = "trainer.log"  # in a run's directory, once its trainer has died over it
KEPT_LINES = 100
LINE_CHARS = 400
MOST_ERROR_CHARS = 160  # of its last line, in a sentence for the page
_COMMAND = (sys.executable, "-m", "vitviz.training.worker")
_PATH = re.compile(r"(?:/[^\s/'\":]+)+/")  # a server's folders are nobody's business
_PROJECT = Path(__file__).resolve().parents[2]
_LAST_WORDS_S = 5.0  # until what it said is through its pipe; a child of its own may hold that open


class TrainerProcess:
    """A process that takes orders on its stdin; see `worker`.

    What it writes to its stderr is read as it comes, and its last `KEPT_LINES` lines are held: one that nobody reads
    would stop at a full pipe.
    """

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, _paths()))}
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
        )
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def give(self, order: Order) -> None:
        """Order it to train a run."""
        said = {"run": str(order.directory), "control_at": order.control_at, "claim": order.token}
        with contextlib.suppress(BrokenPipeError, OSError):  # its death is seen by its reader
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(said) + "\n")
                self._process.stdin.flush()

    def replies(self) -> Iterator[dict[str, Any]]:
        """Return what it answers, until it ends."""
        for line in self._process.stdout or ():
            yield json.loads(line)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def let_go(self) -> None:
        """Have it end: nobody has orders for it any more."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # what was still to be written is for nobody
                    pipe.close()

    def dismiss(self) -> None:
        """Have it end, and read on what it answers."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self) -> None:
        """Until it has ended, and all that it said is read."""
        self._process.wait()
        self._listener.join(_LAST_WORDS_S)

    def death(self, directory: Path | None) -> str:
        """Describe how the process ended (`wait`), and keep its last output in the directory of its run.

        An error that ended it is in them, as its last line.
        """
        said, code = list(self._said), self._process.returncode
        if directory is not None and said:
            with contextlib.suppress(OSError):  # a full disk, or the run was deleted
                write_whole(directory / LOG, "\n".join(said).encode())
        how = f"killed by signal {-code}" if code < 0 else f"it ended with code {code}"
        why = f": {cut(_PATH.sub('', said[-1]), MOST_ERROR_CHARS)}" if code > 0 and said else ""
        return f"the trainer's process is gone ({how}{why})"

    def _listen(self) -> None:
        """Read its stderr to the end; a line of any length takes no more than `LINE_CHARS` at once."""
        stderr = self._process.stderr
        if stderr is None:
            return
        with stderr:
            while line := stderr.readline(LINE_CHARS):
                if line.strip():
                    self._said.append(line.rstrip())


def _paths() -> list[str]:
    return [str(_PROJECT), os.environ.get("PYTHONPATH", "")]
