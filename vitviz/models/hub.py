"""Download files from a model hub with huggingface_hub, which is imported only then.

The library's settings hold: HF_HOME and HF_HUB_CACHE for its cache, which other programs share, HF_TOKEN, HF_ENDPOINT
and HF_HUB_OFFLINE.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vitviz.models.file_download import (
    CHUNK_BYTES,
    MAX_BYTES,
    ByteProgress,
    DownloadCancelled,
    NoNetworkError,
    describe_failure,
    describe_rate_limit,
    describe_sign_in_page,
    is_full_disk,
    is_web_page,
)
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut
from vitviz.upload_limits import WEIGHTS_JSON_BYTES, WEIGHTS_SHARDS

_TIMEOUT_S = 20.0
_TIME_LIMIT_S = 3600.0  # of a whole download, on a slow network
_SHA256 = re.compile(r"[0-9a-f]{64}")  # a hub's ETag of a large file
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(
    r"(?:hf[-_]hub:)?(?!.*(?:\.\.|--))(\w[\w.-]{0,95}/\w[\w.-]{0,95})(?:@([\w./-]{1,100}))?", re.ASCII
)
_PICKLED = (".bin", ".pth", ".pt", ".ckpt")


def cache_folder() -> Path:
    """Return the folder of huggingface_hub's cache, as its environment variables name it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME")
    if home is None:
        home = str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    return Path(home).expanduser() / "hub"


@dataclass(frozen=True)
class HubFolder:
    """The safetensors and JSON files of a model in a repository on the hub, at a commit or a branch.

    Attributes:
        files: bytes by name, of a single file at most so many.
        public: True to leave this machine's token out, so that only public files are read.
    """

    repo: str
    commit: str
    files: Mapping[str, int]
    public: bool = False

    @property
    def nbytes(self) -> int:
        return sum(self.files.values())

    def find(self) -> Path | None:
        """Return the folder of the files in the hub's cache; None if one of them is missing."""
        folder = cache_folder() / f"models--{self.repo.replace('/', '--')}"
        commit = self.commit
        with suppress(OSError, ValueError):
            if not _COMMIT.fullmatch(commit):
                commit = (folder / "refs" / commit).read_text("utf-8").strip()
        path = folder / "snapshots" / commit
        is_there = _COMMIT.fullmatch(commit) and all((path / name).is_file() for name in self.files)
        return path if is_there else None


def is_hub_id(text: str) -> bool:
    """Return True for 'owner/name' and 'owner/name@revision'."""
    return _HUB_ID.fullmatch(text) is not None


def list_hub_folder(hub_id: str, *, public: bool = False) -> HubFolder:
    """Return which files a model opens from, with their sizes; nothing is downloaded.

    Args:
        hub_id: 'owner/name', or 'owner/name@revision' for a branch, tag or commit.
        public: True to leave this machine's token out.

    Raises:
        vitviz.models.file_download.NoNetworkError: if the hub cannot be reached or has no such repository.
        vitviz.models.pretrained_list.PretrainedError: if it is no id of a hub, or has no safetensors file.
    """
    match = _HUB_ID.fullmatch(hub_id)
    if match is None:
        raise PretrainedError(
            f"a model on the hub is named owner/name or owner/name@revision, received {cut(repr(hub_id))}"
        )
    repo = match[1]
    with _open_hub(repo) as hub:
        try:
            info = hub.HfApi(_find_endpoint()).model_info(
                repo,
                revision=match[2],
                timeout=_TIMEOUT_S,
                files_metadata=True,
                token=_choose_token(public),
            )
        except (ValueError, TypeError) as error:  # no hub answers so
            raise NoNetworkError(describe_sign_in_page(_find_host())) from error
    sizes = {file.rfilename: file.size for file in info.siblings or () if file.size is not None}
    return HubFolder(repo, info.sha, _select_files(repo, sizes), public)


def _select_files(repo: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the files of a repository's first level that `vitviz.models.formats` reads."""
    from vitviz.models.formats.source import CONFIGS, INDEX, PROCESSOR_CONFIGS

    weights = {
        name: size for name, size in sizes.items() if name.endswith(".safetensors") and "/" not in name
    }
    json_names = [*CONFIGS, *PROCESSOR_CONFIGS]
    if "model.safetensors" in weights:
        weights = {"model.safetensors": weights["model.safetensors"]}
    elif indices := sorted(name for name in sizes if name.endswith(INDEX) and "/" not in name):
        stem = indices[0].removesuffix(INDEX)
        weights = {name: size for name, size in weights.items() if name.startswith(f"{stem}-")}
        json_names.append(indices[0])
    if not weights:
        pickles = [name for name in sizes if name.endswith(_PICKLED)]
        has = (
            f"it has {cut(pickles[0])}, which can run code when it is opened"
            if pickles
            else "nothing to open"
        )
        raise PretrainedError(f"{repo} has no safetensors file on its first level: {has}")
    if len(weights) > WEIGHTS_SHARDS or (
        len(weights) > 1 and len(json_names) == len(CONFIGS) + len(PROCESSOR_CONFIGS)
    ):
        raise PretrainedError(
            f"{repo} has {len(weights)} safetensors files without an index of up to {WEIGHTS_SHARDS}, so it is not"
            " clear which is the model: download one and open it as a file"
        )
    configs = {
        name: size for name, size in sizes.items() if name in json_names and size <= WEIGHTS_JSON_BYTES
    }
    return configs | weights


def fetch_hub_folder(
    folder: HubFolder,
    cache: Path | None = None,
    progress: ByteProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Path:
    """Download files of a repository unless they are there, and return their folder; its name is the commit.

    Args:
        folder: at a branch, it is resolved to the commit that the hub names, and this commit is downloaded.
        cache: where the files go; None for huggingface_hub's cache, which other programs share.
        progress: called with (bytes so far, bytes in all or None).
        cancelled: called for each chunk.

    Raises:
        NoNetworkError: if the hub cannot be reached or refuses.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if a limit is exceeded, or a file is not the one that the hub names.
    """
    cache = cache or cache_folder()
    _check_disk(cache, folder.nbytes)
    deadline_s, before, most, path = time.monotonic() + _TIME_LIMIT_S, 0, 0, cache

    def report(done: int, total: int | None) -> None:
        if cancelled is not None and cancelled():
            raise DownloadCancelled("the download was stopped")
        if time.monotonic() > deadline_s:
            raise PretrainedError(f"the download took more than {_TIME_LIMIT_S:,.0f} s and was stopped")
        if done > most:
            raise PretrainedError(f"received more than the stated {most:,} bytes of {folder.repo}")
        if progress is not None:
            progress(before + done, folder.nbytes if len(folder.files) > 1 else total)

    with _open_hub(folder.repo, cache) as hub:
        bar = _make_bar(report)
        for name, most in folder.files.items():
            stated = _read_metadata(hub, folder, name)
            path = Path(
                hub.hf_hub_download(
                    folder.repo,
                    name,
                    revision=stated.commit_hash,
                    cache_dir=cache,
                    etag_timeout=_TIMEOUT_S,
                    token=_choose_token(folder.public),
                    endpoint=_find_endpoint(),
                    tqdm_class=bar,
                )
            )
            _check_content(path, name, stated.etag)
            before += most
    return path.parent


def find_hub_folder(hub_id: str) -> Path | None:
    """Return the newest folder of a repository with weights in the hub's cache, or None."""
    match = _HUB_ID.fullmatch(hub_id)
    if match is None:
        return None
    snapshots = cache_folder() / f"models--{match[1].replace('/', '--')}" / "snapshots"
    names = {match[2] or ""}
    with suppress(OSError):
        names.add((snapshots.parent / "refs" / (match[2] or "main")).read_text("utf-8").strip())
    folders = [path for path in snapshots.glob("*") if any(path.glob("*.safetensors"))]
    named = [path for path in folders if path.name in names]
    return max(named or ([] if match[2] else folders), key=lambda path: path.stat().st_mtime, default=None)


def _check_disk(cache: Path, needed_bytes: int) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(cache).free
    except OSError as error:
        raise PretrainedError(
            f"the weights cannot be written to {cache}: {error.strerror or error}"
        ) from error
    if free < needed_bytes:
        raise PretrainedError(
            f"the disk of {cache} has {free / 1e6:,.0f} MB free, and the download needs up to"
            f" {needed_bytes / 1e6:,.0f} MB"
        )


def _find_endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _find_host() -> str:
    return urlsplit(_find_endpoint()).netloc


def _choose_token(public: bool) -> bool | None:
    """Return False to send no token, None for this machine's."""
    return False if public else None


@contextmanager
def _open_hub(repo: str, cache: Path | None = None) -> Iterator[Any]:
    """Yield huggingface_hub, and raise its errors, the network's and the disk's as one sentence.

    Raises:
        NoNetworkError: if the hub cannot be reached or refuses.
        PretrainedError: if huggingface_hub is missing, or the disk of `cache` is full.
    """
    try:
        import huggingface_hub as hub
        from httpx2 import HTTPError, InvalidURL
        from huggingface_hub import constants
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    except ImportError as error:
        raise PretrainedError(
            "the hub needs the package huggingface_hub: pip install huggingface_hub"
        ) from error
    constants.DOWNLOAD_CHUNK_SIZE = CHUNK_BYTES  # its 10 MB report and resume too coarsely
    constants.HF_HUB_DISABLE_XET = True  # its threads go on when a progress bar raises an error
    constants.HF_HUB_DISABLE_TELEMETRY = True  # nothing but the files is asked for
    try:
        yield hub
    except OfflineModeIsEnabled as error:
        raise NoNetworkError("HF_HUB_OFFLINE is set, so nothing is downloaded from the hub") from error
    except HfHubHTTPError as error:
        raise NoNetworkError(_describe_refusal(repo, error.response)) from error
    except (HTTPError, InvalidURL, OSError) as error:
        text = _join_texts(error)
        if is_full_disk(text):
            raise PretrainedError(f"the disk of {cache} is full") from error
        raise NoNetworkError(describe_failure(_find_host(), text)) from error


def _read_metadata(hub: Any, folder: HubFolder, name: str) -> Any:
    """Return what the hub states of a file.

    Raises:
        NoNetworkError: if it is no hub that answers.
        PretrainedError: if the file is too large.
    """
    url = hub.hf_hub_url(folder.repo, name, revision=folder.commit, endpoint=_find_endpoint())
    stated = hub.get_hf_file_metadata(
        url, timeout=_TIMEOUT_S, token=_choose_token(folder.public), endpoint=_find_endpoint()
    )
    if stated.commit_hash is None or stated.etag is None:  # no hub answers so
        raise NoNetworkError(describe_sign_in_page(_find_host()))
    if (stated.size or 0) > MAX_BYTES:
        raise PretrainedError(f"{url} has {stated.size:,} bytes, more than the limit of {MAX_BYTES:,}")
    return stated


def _check_content(path: Path, name: str, etag: str) -> None:
    """Delete a file that is not the one that the hub names.

    Raises:
        NoNetworkError: if it is a web page.
        PretrainedError: if it is another file.
    """
    with path.open("rb") as file:
        is_page = is_web_page("", file.read(64))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not is_page and (not _SHA256.fullmatch(etag) or digest == etag):
        return
    path.resolve().unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    if is_page:
        raise NoNetworkError(describe_sign_in_page(_find_host()))
    raise PretrainedError(
        f"{name} is not the file that the hub names: expected sha256 {etag[:8]}, received {digest[:8]}"
    )


def _make_bar(report: ByteProgress) -> type[Any]:
    """Return a progress bar for huggingface_hub that reports (bytes so far, bytes in all or None)."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        """Reports in place of drawing."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += int(n or 0)
            report(self.n, self.total)

    return Bar


def _describe_refusal(repo: str, response: Any) -> str:
    host, url = _find_host(), str(response.request.url).partition("?")[0]
    if response.status_code == 429:
        return describe_rate_limit(host, response.headers.get("Retry-After"))
    if response.headers.get("X-Error-Code") == "GatedRepo":
        return (
            f"{url} is gated: accept its terms on {host} and set HF_TOKEN, or open its files from your disk"
        )
    if "/api/models/" in url and response.status_code in (401, 404):  # a hub hides private ones
        return f"{host} has no public model {repo}, or not at this revision"
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
