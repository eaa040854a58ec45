"""Run a download in a process of its own, with progress, cancellation and limits on time and disk space.

The process prints one JSON object per line: {"done": bytes, "total": bytes or null}, and at last an object
such as {"path": …}, or {"error": …, "network": true or false}.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vitviz.models.file_download import ByteProgress, DownloadCancelled, NoNetworkError
from vitviz.models.pretrained_list import PretrainedError

TIME_LIMIT_S = 3600.0  # of a whole download, on a slow network
END_S = 5.0  # for the process to remove its partial files
_POLL_S = 0.1
_PROJECT = Path(__file__).resolve().parents[2]


def run_fetch(
    module: str,
    arguments: Mapping[str, object],
    needed_bytes: int,
    folder: Path,
    progress: ByteProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> dict[str, Any]:
    """Run `python -m module` with JSON arguments, and return the last object that it reports.

    Args:
        module: name of the module that downloads; it reads one JSON object from its stdin.
        arguments: the object.
        needed_bytes: disk space that the download takes at most.
        folder: where the file will lie; its disk must have the space.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: called several times a second.

    Raises:
        NoNetworkError: if the source cannot be reached.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if a limit is exceeded, or the file is not the expected one.
    """
    _check_disk(folder, needed_bytes)
    with _start(module, arguments) as process:
        reports = _Reports(process, progress)
        deadline = time.monotonic() + time_limit_s
        while reports.running:
            reports.wait(_POLL_S)
            if cancelled is not None and cancelled():
                raise DownloadCancelled("the download was stopped")
            if time.monotonic() > deadline:
                raise PretrainedError(f"the download took more than {time_limit_s:,.0f} s and was stopped")
    return reports.get_last()


def report(**values: object) -> None:
    """Print one line for `run_fetch`; for the process that downloads."""
    print(json.dumps(values), flush=True)


def read_arguments() -> dict[str, Any]:
    """Return the arguments of `run_fetch`; end at once where the parent's signal asks for it."""
    # Otherwise SIGTERM would leave partial files; SystemExit runs every `finally`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    arguments: dict[str, Any] = json.load(sys.stdin)
    return arguments


def _check_disk(folder: Path, needed_bytes: int) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise PretrainedError(
            f"the weights cannot be written to {folder}: {error.strerror or error}"
        ) from error
    if free < needed_bytes:
        raise PretrainedError(
            f"the disk of {folder} has {free / 1e6:,.0f} MB free, and the download needs up to"
            f" {needed_bytes / 1e6:,.0f} MB"
        )


@contextmanager
def _start(module: str, arguments: Mapping[str, object]) -> Iterator[subprocess.Popen[str]]:
    """Start the process in a group of its own, and end the group on leaving."""
    paths = os.pathsep.join(filter(None, (str(_PROJECT), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdin is not None
            with suppress(OSError):  # it ended already: the missing report says so
                json.dump(arguments, process.stdin)
                process.stdin.close()
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and those that it started."""
    if process.poll() is not None:
        return
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        _signal_group(process, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)


def _signal_group(process: subprocess.Popen[str], number: int) -> None:
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Reports:
    """The lines that a process prints, read by a thread."""

    def __init__(self, process: subprocess.Popen[str], progress: ByteProgress | None) -> None:
        self._process, self._progress = process, progress
        self._last: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    def get_last(self) -> dict[str, Any]:
        """Return the last report, or raise the error that it holds."""
        if self._last and "error" not in self._last:
            return self._last
        message = str(self._last.get("error", "the process that downloads ended without a report"))
        raise (NoNetworkError if self._last.get("network") else PretrainedError)(message)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):  # another program's output
                values = json.loads(line)
                if "done" in values and self._progress is not None:
                    self._progress(int(values["done"]), values.get("total"))
                elif "done" not in values:
                    self._last = values
