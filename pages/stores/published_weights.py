"""List downloaded published weights and download others."""

import os
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from vitviz.models.file_download import NoNetworkError
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError
from vitviz.models.published_weights import fetch, is_whole, list_names, list_paths

KEY = "pretrained:"
UPLOAD_HINT = "Or upload that file under 'Your own weights' below, which needs no network."
SWITCH = "VITVIZ_DOWNLOADS"  # '0': only the operator downloads, by command


@dataclass
class Download:
    """A download of published weights; written by its thread, read by pages.

    Attributes:
        users: tokens of those who started it: they may cancel it, and its error is shown to them alone.
    """

    name: str
    done_bytes: int = 0
    total_bytes: int | None = None
    error: str = ""
    unreachable: bool = False  # the error is the network's
    finished: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    users: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Download the file once a slot is free; store an error as one sentence."""
        try:
            with _slots:
                if not self.stop.is_set():
                    fetch(PRETRAINED[self.name], self._progress, self.stop.is_set)
        except (PretrainedError, OSError) as error:
            message = str(error)
            self.unreachable = isinstance(error, NoNetworkError)
            self.error = "" if self.stop.is_set() else f"{message[:1].upper()}{message[1:]}."
        finally:
            self.finished = True

    def _progress(self, done: int, total: int | None) -> None:
        self.done_bytes, self.total_bytes = done, total


_downloads: dict[str, Download] = {}  # by name: users who want the same file share one download
_lock = threading.Lock()
_slots = threading.BoundedSemaphore(1)  # one download at a time; others wait


def are_downloads_allowed() -> bool:
    """Return False if the operator switched downloads by users off."""
    return os.environ.get(SWITCH, "1") != "0"


def is_uploadable(name: str, limit_mb: int) -> bool:
    """Return True if the form for own weights takes the file of an entry."""
    entry = PRETRAINED[name]
    return entry.file_name.endswith(".safetensors") and entry.megabytes * 1e6 <= limit_mb * 2**20


def split_key(key: str) -> tuple[str, int | None]:
    """Return (name, image size in px or None) of a key 'pretrained:NAME' or 'pretrained:NAME@448'."""
    name, _, side = key.removeprefix(KEY).partition("@")
    return name, int(side) if side.isdecimal() else None


def find_opening_map(key: str) -> tuple[int, int] | None:
    """Return (layer, head), from 1, of the attention map that a photo opens on with a model, if it states one."""
    entry = PRETRAINED.get(split_key(key)[0]) if key.startswith(KEY) else None
    return None if entry is None else entry.opens_on


def explain_no_classes(key: str) -> str:
    """Return why features of a model say little about classes, in one sentence, or ''."""
    entry = PRETRAINED.get(split_key(key)[0]) if key.startswith(KEY) else None
    if entry is None or not entry.knows:
        return ""
    return f"{entry.title}, {entry.knows}, so a linear probe of classes says little: choose another model."


def list_downloaded() -> list[Pretrained]:
    """Return the entries whose complete file is on this machine."""
    entries = [PRETRAINED[name] for name in list_names()]  # called many times in a run: usually fast
    return [entry for entry in entries if any(map(_is_complete, list_paths(entry)))]


def _is_complete(path: Path) -> bool:
    try:
        stat = path.stat()
    except OSError:
        return False
    return _check_complete(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=128)
def _check_complete(path: Path, modified_ns: int, size_bytes: int) -> bool:
    return is_whole(path)


def start_download(name: str, user: str) -> None:
    """Start a download for a user's token, or share the one that is running already."""
    with _lock:
        running = _downloads.get(name)
        if running is not None and not running.finished:
            running.users.add(user)
            return
        _downloads[name] = Download(name, users={user})
        threading.Thread(target=_downloads[name].run, name=f"download-{name}", daemon=True).start()


def list_downloads() -> list[tuple[str, bool, str]]:
    """Return for each download that was started: its name, whether it has ended, and its error."""
    return [(download.name, download.finished, download.error) for download in [*_downloads.values()]]


def get_download(name: str) -> Download | None:
    return _downloads.get(name)
