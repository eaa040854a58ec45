"""Download files from a model hub with huggingface_hub, in a process of its own.

The library's settings hold: HF_HOME and HF_HUB_CACHE for its cache, which other programs share, HF_TOKEN, HF_ENDPOINT
and HF_HUB_OFFLINE. `python -m vitviz.models.hub` is the process that `fetch_hub_file` starts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vitviz.models.download import CHUNK_BYTES, MAX_BYTES, Progress
from vitviz.models.fetch_process import read_arguments, report, run_fetch
from vitviz.models.network_errors import (
    describe_failure,
    describe_rate_limit,
    describe_sign_in_page,
    is_full_disk,
    is_web_page,
)

_TIMEOUT_S = 20.0
_SHA256 = re.compile(r"[0-9a-f]{64}")  # a hub's ETag of a large file
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubFile:
    """A file of a repository on the hub, at a branch or at a commit."""

    repo: str
    name: str
    revision: str = "main"

    def find(self) -> Path | None:
        """Return the file in the hub's cache, or None."""
        folder = cache_folder() / f"models--{self.repo.replace('/', '--')}"
        commit = self.revision
        if not _COMMIT.fullmatch(commit):
            try:
                commit = (folder / "refs" / self.revision).read_text("utf-8").strip()
            except (OSError, ValueError):
                return None
            if not _COMMIT.fullmatch(commit):
                return None
        path = folder / "snapshots" / commit / self.name
        return path if path.is_file() else None


def cache_folder() -> Path:
    """Return the folder of huggingface_hub's cache, as its environment variables name it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME")
    if home is None:
        home = str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    return Path(home).expanduser() / "hub"


def fetch_hub_file(
    file: HubFile,
    needed_bytes: int,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Path:
    """Download a file into the hub's cache unless it is there; its folder's name is the commit.

    Args:
        file: at a branch, it is resolved to the commit that the hub names, and this commit is downloaded.
        needed_bytes: disk space that the file takes at most.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: called several times a second.

    Raises:
        vitviz.models.download.NoNetworkError: if the hub cannot be reached or refuses.
        vitviz.models.download.DownloadCancelled: if `cancelled()` becomes true.
        vitviz.models.pretrained_list.PretrainedError: if a limit is exceeded, or the file is not the one that the
            hub names.
    """
    arguments = {"repo": file.repo, "name": file.name, "revision": file.revision}
    return run_fetch("vitviz.models.hub", arguments, needed_bytes, cache_folder(), progress, cancelled)


def main() -> None:
    """Download the file that the arguments on stdin name, and report on stdout."""
    arguments = read_arguments()
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # nothing but the file is asked for
    from httpx2 import HTTPError, InvalidURL
    from huggingface_hub import hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    url = hf_hub_url(arguments["repo"], arguments["name"], revision=arguments["revision"])
    host = urlsplit(url).netloc
    try:
        error = _download(arguments, url, host)
    except OfflineModeIsEnabled:
        error = "HF_HUB_OFFLINE is set, so nothing is downloaded from the hub"
    except HfHubHTTPError as failure:
        error = _describe_refusal(host, url, failure.response)
    except (HTTPError, InvalidURL, OSError) as failure:
        text = _join_texts(failure)
        if is_full_disk(text):
            report(error=f"the disk of {cache_folder()} is full", network=False)
            return
        error = describe_failure(host, text)
    if error:
        report(error=error, network=True)


def _download(arguments: dict[str, Any], url: str, host: str) -> str:
    """Download the file and report its path; return an error of the network, or ''."""
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download

    constants.DOWNLOAD_CHUNK_SIZE = CHUNK_BYTES  # its 10 MB report and resume too coarsely
    stated = get_hf_file_metadata(url, timeout=_TIMEOUT_S)
    if stated.commit_hash is None or stated.etag is None:  # no hub answers so
        return describe_sign_in_page(host)
    size = stated.size or 0
    if size > MAX_BYTES:
        report(error=f"{url} has {size:,} bytes, more than the limit of {MAX_BYTES:,}", network=False)
        return ""
    if (free := shutil.disk_usage(cache_folder()).free) < size:
        report(
            error=f"the disk of {cache_folder()} has {free / 1e6:,.0f} MB free, and the file {size / 1e6:,.0f} MB",
            network=False,
        )
        return ""
    path = Path(
        hf_hub_download(
            arguments["repo"],
            arguments["name"],
            revision=stated.commit_hash,
            etag_timeout=_TIMEOUT_S,
            tqdm_class=_make_bar(size or MAX_BYTES),
        )
    )
    with path.open("rb") as file:
        is_page = is_web_page("", file.read(64))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if is_page or (_SHA256.fullmatch(stated.etag) and digest != stated.etag):
        path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if is_page:
            return describe_sign_in_page(host)
        report(
            error=f"{url} is not the file that the hub names: expected sha256 {stated.etag[:8]}, received {digest[:8]}",
            network=False,
        )
        return ""
    report(path=str(path))
    return ""


def _make_bar(most_bytes: int) -> type[Any]:
    """Return a progress bar for huggingface_hub that reports bytes, and stops beyond so many."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        """Reports in place of drawing."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._done = int(kwargs.get("initial") or 0)
            self._total = kwargs.get("total")
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            self._done += int(n or 0)
            if self._done > most_bytes:
                raise OSError(f"received more than the stated {most_bytes:,} bytes")
            report(done=self._done, total=self._total)

    return Bar


def _describe_refusal(host: str, url: str, response: Any) -> str:
    if response.status_code == 429:
        return describe_rate_limit(host, response.headers.get("Retry-After"))
    if response.status_code in (401, 403):
        return f"{host} refused {url} ({response.status_code}): it needs access rights, set HF_TOKEN"
    return f"{host} refused {url}: {response.status_code} {response.reason_phrase}"


def _join_texts(error: BaseException | None) -> str:
    """Return the texts of an error and of its causes."""
    texts: list[str] = []
    while error is not None and len(texts) < 8:
        texts.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


if __name__ == "__main__":
    main()
