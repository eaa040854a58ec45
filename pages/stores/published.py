"""Published weights as models: those that are on this machine, and a way to fetch the others."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from vitviz.models.download import NoNetworkError, weights_file, weights_folder
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError
from vitviz.models.published_weights import fetch, is_whole

KEY = "pretrained:"
OR_UPLOAD = "Or upload that file under 'Your own weights' below: it needs no network of this server."


@dataclass
class Fetch:
    """A download under way or ended; written by its thread, read by pages."""

    name: str
    done_bytes: int = 0
    total_bytes: int | None = None
    error: str = ""
    finished: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Fetches the file, once there is a place for it; what goes wrong becomes one sentence."""
        try:
            with _places:
                if not self.stop.is_set():
                    fetch(PRETRAINED[self.name], self._progress, self.stop.is_set)
        except (PretrainedError, OSError) as error:
            said = str(error)
            also = f" {OR_UPLOAD}" if isinstance(error, NoNetworkError) else ""
            self.error = "" if self.stop.is_set() else f"{said[:1].upper()}{said[1:]}.{also}"
        finally:
            self.finished = True

    def _progress(self, done: int, total: int | None) -> None:
        self.done_bytes, self.total_bytes = done, total


_fetches: dict[str, Fetch] = {}  # by name: two visits that want one file wait for one download
_lock = threading.Lock()
_places = threading.BoundedSemaphore(2)  # files that are fetched at once, whoever asks: the others wait


def here() -> list[Pretrained]:
    """The published weights whose file is on this machine."""
    folder = weights_folder()
    if not folder.is_dir():  # asked many times in a run: the usual answer is quick
        return []
    found = [PRETRAINED[path.name] for path in sorted(folder.iterdir()) if path.name in PRETRAINED]
    return [entry for entry in found if _whole(weights_file(entry))]


def _whole(path: Path) -> bool:
    try:
        stat = path.stat()
    except OSError:
        return False
    return _is_whole(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=128)
def _is_whole(path: Path, modified_ns: int, size_bytes: int) -> bool:
    return is_whole(path)


def start(name: str) -> None:
    """Begins to fetch a file, unless it is being fetched."""
    with _lock:
        running = _fetches.get(name)
        if running is not None and not running.finished:
            return
        _fetches[name] = Fetch(name)
        threading.Thread(target=_fetches[name].run, name=f"fetch-{name}", daemon=True).start()


def progress(name: str) -> Fetch | None:
    """The download of a file that is under way or has ended; None where nobody asked for it."""
    return _fetches.get(name)
