"""List downloaded published weights and download others."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from vitviz.models.download import NoNetworkError, weights_file, weights_folder
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError
from vitviz.models.published_weights import fetch, is_whole

KEY = "pretrained:"
UPLOAD_HINT = "Or upload the file under 'Your own weights' below, which needs no network."


@dataclass
class Download:
    """A download of published weights; written by its thread, read by pages."""

    name: str
    done_bytes: int = 0
    total_bytes: int | None = None
    error: str = ""
    finished: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Download the file once a slot is free; store an error as one sentence."""
        try:
            with _slots:
                if not self.stop.is_set():
                    fetch(PRETRAINED[self.name], self._progress, self.stop.is_set)
        except (PretrainedError, OSError) as error:
            message = str(error)
            hint = f" {UPLOAD_HINT}" if isinstance(error, NoNetworkError) else ""
            self.error = "" if self.stop.is_set() else f"{message[:1].upper()}{message[1:]}.{hint}"
        finally:
            self.finished = True

    def _progress(self, done: int, total: int | None) -> None:
        self.done_bytes, self.total_bytes = done, total


_downloads: dict[str, Download] = {}  # by name: users who want the same file share one download
_lock = threading.Lock()
_slots = threading.BoundedSemaphore(2)  # simultaneous downloads; others wait


def list_downloaded() -> list[Pretrained]:
    folder = weights_folder()
    if not folder.is_dir():  # called many times in a run: the usual case is fast
        return []
    entries = [PRETRAINED[path.name] for path in sorted(folder.iterdir()) if path.name in PRETRAINED]
    return [entry for entry in entries if _is_complete(weights_file(entry))]


def _is_complete(path: Path) -> bool:
    try:
        stat = path.stat()
    except OSError:
        return False
    return _check_complete(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=128)
def _check_complete(path: Path, modified_ns: int, size_bytes: int) -> bool:
    return is_whole(path)


def start_download(name: str) -> None:
    """Start a download unless it is running already."""
    with _lock:
        running = _downloads.get(name)
        if running is not None and not running.finished:
            return
        _downloads[name] = Download(name)
        threading.Thread(target=_downloads[name].run, name=f"download-{name}", daemon=True).start()


def get_download(name: str) -> Download | None:
    """Return the running or finished download of a file, or None."""
    return _downloads.get(name)
