"""Download files from a model hub with huggingface_hub, in a process of its own.

The library's settings hold: HF_HOME and HF_HUB_CACHE for its cache, which other programs share, HF_TOKEN, HF_ENDPOINT
and HF_HUB_OFFLINE. `python -m vitviz.models.hub` is the process that `fetch_hub_folder` starts.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import urlsplit

from vitviz.models.fetch_process import read_arguments, report, run_fetch
from vitviz.models.file_download import (
    CHUNK_BYTES,
    MAX_BYTES,
    ByteProgress,
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
_SHA256 = re.compile(r"[0-9a-f]{64}")  # a hub's ETag of a large file
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(
    r"(?:hf[-_]hub:)?(?!.*(?:\.\.|--))(\w[\w.-]{0,95}/\w[\w.-]{0,95})(?:@([\w./-]{1,100}))?", re.ASCII
)
_PICKLED = (".bin", ".pth", ".pt", ".ckpt")
_MODULE = "vitviz.models.hub"


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


def list_hub_folder(
    hub_id: str, *, public: bool = False, cancelled: Callable[[], bool] | None = None
) -> HubFolder:
    """Return which files a model opens from, with their sizes; nothing is downloaded.

    Args:
        hub_id: 'owner/name', or 'owner/name@revision' for a branch, tag or commit.
        public: True to leave this machine's token out.
        cancelled: called several times a second.

    Raises:
        vitviz.models.file_download.NoNetworkError: if the hub cannot be reached or has no such repository.
        vitviz.models.pretrained_list.PretrainedError: if it is no id of a hub, or has no safetensors file.
    """
    match = _HUB_ID.fullmatch(hub_id)
    if match is None:
        raise PretrainedError(
            f"a model on the hub is named owner/name or owner/name@revision, received {cut(repr(hub_id))}"
        )
    repo, revision = match[1], match[2]
    arguments = {"repo": repo, "revision": revision, "public": public}
    stated = run_fetch(_MODULE, arguments, 0, Path(gettempdir()), cancelled=cancelled)
    return HubFolder(repo, stated["commit"], _select_files(repo, stated["files"]), public)


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
        cancelled: called several times a second.

    Raises:
        NoNetworkError: if the hub cannot be reached or refuses.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if a limit is exceeded, or a file is not the one that the hub names.
    """
    cache = cache or cache_folder()
    arguments = {
        "repo": folder.repo,
        "revision": folder.commit,
        "files": {**folder.files},
        "public": folder.public,
        "cache": str(cache),
    }
    return Path(run_fetch(_MODULE, arguments, folder.nbytes, cache, progress, cancelled)["path"]).parent


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


def main() -> None:
    """Download the files that the arguments on stdin name, or list a repository, and report on stdout."""
    arguments = read_arguments()
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # nothing but the file is asked for
    try:
        from httpx2 import HTTPError, InvalidURL
        from huggingface_hub import constants, hf_hub_url
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    except ImportError:
        report(error="the hub needs the package huggingface_hub: pip install huggingface_hub", network=False)
        return
    host, url = urlsplit(constants.ENDPOINT).netloc, f"{constants.ENDPOINT}/{arguments['repo']}"
    try:
        if "files" not in arguments:
            _list(arguments, host)
        files = arguments.get("files", {})
        done, total = 0, sum(files.values()) if len(files) > 1 else 0
        for name, size in files.items():
            url = hf_hub_url(arguments["repo"], name, revision=arguments["revision"])
            _download(arguments, name, url, host, (done, total))
            done += size
    except _HubError as failure:
        report(error=str(failure), network=failure.network)
    except OfflineModeIsEnabled:
        report(error="HF_HUB_OFFLINE is set, so nothing is downloaded from the hub", network=True)
    except HfHubHTTPError as failure:
        report(error=_describe_refusal(host, url, failure.response), network=True)
    except (HTTPError, InvalidURL, OSError) as failure:
        text = _join_texts(failure)
        is_full = is_full_disk(text)
        cache = arguments.get("cache") or cache_folder()
        report(
            error=f"the disk of {cache} is full" if is_full else describe_failure(host, text),
            network=not is_full,
        )


class _HubError(Exception):
    """The reason why a file is refused; `network` tells whether the network is the cause."""

    def __init__(self, message: str, network: bool = False) -> None:
        super().__init__(message)
        self.network = network


def _list(arguments: dict[str, Any], host: str) -> None:
    """Report a repository's commit, and the bytes of its files by name."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(
            arguments["repo"],
            revision=arguments["revision"],
            timeout=_TIMEOUT_S,
            files_metadata=True,
            token=_choose_token(arguments),
        )
    except (ValueError, TypeError) as error:  # no hub answers so
        raise _HubError(describe_sign_in_page(host), network=True) from error
    sizes = {file.rfilename: file.size for file in info.siblings or () if file.size is not None}
    report(commit=info.sha, files=sizes)


def _choose_token(arguments: dict[str, Any]) -> bool | None:
    """Return False to send no token, None for this machine's."""
    return False if arguments.get("public") else None


def _download(arguments: dict[str, Any], name: str, url: str, host: str, counts: tuple[int, int]) -> None:
    """Download a file and report its path.

    Args:
        counts: bytes of the files before it, and of all files; (0, 0) for a single one.

    Raises:
        _HubError: if it is too large for a limit or the disk, or not the file that the hub names.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download

    constants.DOWNLOAD_CHUNK_SIZE = CHUNK_BYTES  # its 10 MB report and resume too coarsely
    token, cache = _choose_token(arguments), Path(arguments.get("cache") or cache_folder())
    stated = get_hf_file_metadata(url, timeout=_TIMEOUT_S, token=token)
    if stated.commit_hash is None or stated.etag is None:  # no hub answers so
        raise _HubError(describe_sign_in_page(host), network=True)
    size = stated.size or 0
    if size > MAX_BYTES:
        raise _HubError(f"{url} has {size:,} bytes, more than the limit of {MAX_BYTES:,}")
    if (free := shutil.disk_usage(cache).free) < size:
        raise _HubError(
            f"the disk of {cache} has {free / 1e6:,.0f} MB free, and the file {size / 1e6:,.0f} MB"
        )
    path = Path(
        hf_hub_download(
            arguments["repo"],
            name,
            revision=stated.commit_hash,
            cache_dir=cache,
            etag_timeout=_TIMEOUT_S,
            token=token,
            tqdm_class=_make_bar(arguments["files"][name], *counts),
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
            raise _HubError(describe_sign_in_page(host), network=True)
        raise _HubError(
            f"{url} is not the file that the hub names: expected sha256 {stated.etag[:8]}, received {digest[:8]}"
        )
    report(path=str(path))


def _make_bar(most_bytes: int, before: int, total: int) -> type[Any]:
    """Return a progress bar for huggingface_hub that reports bytes after those before, and stops beyond so many."""
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
            report(done=before + self._done, total=total or self._total)

    return Bar


def _describe_refusal(host: str, url: str, response: Any) -> str:
    if response.status_code == 429:
        return describe_rate_limit(host, response.headers.get("Retry-After"))
    if response.headers.get("X-Error-Code") == "GatedRepo":
        return (
            f"{url} is gated: accept its terms on {host} and set HF_TOKEN, or open its files from your disk"
        )
    if "/api/models/" in str(response.request.url) and response.status_code in (
        401,
        404,
    ):  # a hub hides private ones
        return f"{host} has no public model {url.partition(host)[2].strip('/')}, or not at this revision"
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
