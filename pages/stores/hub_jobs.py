"""Look a model up on the hub, download it and open it, in a thread of the user who asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pages.stores import own_weights, published_weights
from vitviz.models.hub import HubFolder, fetch_hub_folder, list_hub_folder
from vitviz.models.pretrained_list import PretrainedError

if TYPE_CHECKING:
    from pages.stores.session import UserSession

_SETTING = "VITVIZ_HUB_MB"
_DEFAULT_MB = 512  # ViT-B has 346 MB in fp32
_ABANDONED_S = 120.0  # a hidden tab polls once a minute
_slots = threading.BoundedSemaphore(2)  # of all users; others wait


def get_limit_mb() -> int:
    """Return how large a model of the hub may be, in MB; 0 where the operator has switched this off.

    Raises:
        ValueError: if the operator's VITVIZ_HUB_MB is no whole number.
    """
    allowed = published_weights.are_downloads_allowed()
    return own_weights.read_limit_mb(_SETTING, _DEFAULT_MB, 0) if allowed else 0


@dataclass
class HubJob:
    """A look-up of a hub id, then the download that its user agreed to; written by its thread, read by pages.

    Attributes:
        listed: the files that were found; the download has not begun while `agreed`, which the page sets, is False.
        opened: the model, once it is there.
        error: why it ended, as one sentence.
        polled_at: when a page last asked; a job that nobody asks about ends.
    """

    hub_id: str
    listed: HubFolder | None = None
    agreed: bool = False
    done_bytes: int = 0
    opened: own_weights.OpenedModel | None = None
    error: str = ""
    active: bool = False
    polled_at: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    def start(self, step: Callable[[HubJob], None]) -> None:
        """Run `look_up` or `download` in a thread."""
        self.active, self.polled_at = True, time.monotonic()
        threading.Thread(target=self._run, args=(step,), name="hub", daemon=True).start()

    def is_active(self) -> bool:
        """Return True while the thread runs; asking keeps it running."""
        self.polled_at = time.monotonic()
        return self.active

    def look_up(self) -> None:
        listed = list_hub_folder(self.hub_id, public=True, cancelled=self._is_stopped)
        megabytes, limit = listed.nbytes / 1e6, get_limit_mb()
        if megabytes > limit:
            raise PretrainedError(
                f"{listed.repo} has {megabytes:,.0f} MB, more than the {limit:,} MB that this server takes from the hub"
            )
        self.listed = listed

    def download(self) -> None:
        from vitviz.models.formats.uploaded_weights import TemporaryFolder

        assert self.listed is not None
        folder = TemporaryFolder()
        source = fetch_hub_folder(self.listed, folder.path / "hub", self._progress, self._is_stopped)
        self.opened = own_weights.open_folder(folder, source, self.hub_id)

    def _run(self, step: Callable[[HubJob], None]) -> None:
        try:
            while not (free := _slots.acquire(timeout=0.5)) and not self._is_stopped():
                pass
            if free:
                try:
                    step(self)
                finally:
                    _slots.release()
        except (PretrainedError, OSError) as error:
            message = str(error)
            self.error = "" if self._is_stopped() else f"{message[:1].upper()}{message[1:]}."
        finally:
            self.active = False

    def _progress(self, done: int, _total: int | None) -> None:
        self.done_bytes = done

    def _is_stopped(self) -> bool:
        return self.stop.is_set() or time.monotonic() - self.polled_at > _ABANDONED_S


_jobs: dict[str, HubJob] = {}  # by the user's token: at most one each
_lock = threading.Lock()


def get_job(user: UserSession) -> HubJob | None:
    return _jobs.get(user.token)


def look_up(user: UserSession, hub_id: str) -> None:
    cancel(user)
    with _lock:
        for token in [token for token, job in _jobs.items() if not job.active]:
            if time.monotonic() - _jobs[token].polled_at > _ABANDONED_S:
                del _jobs[token]
        job = _jobs[user.token] = HubJob(hub_id)
    job.start(HubJob.look_up)


def cancel(user: UserSession) -> None:
    """Stop and forget the user's job; its files are deleted."""
    with _lock:
        job = _jobs.pop(user.token, None)
    if job is not None:
        job.stop.set()
