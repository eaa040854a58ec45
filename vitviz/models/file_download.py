"""Download a file by its address once, with progress and cancellation, and describe failures of a download."""

import hashlib
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import NamedTemporaryFile

from platformdirs import user_cache_path

from vitviz.models.pretrained_list import Pretrained, PretrainedError

ByteProgress = Callable[[int, int | None], None]  # (bytes so far, total bytes if known)

CHUNK_BYTES = 1 << 18  # on a slow line, progress shows and a click stops it every few seconds
MAX_BYTES = 2 << 30  # ViT-L/16 is 1.2 GB
TIMEOUT_S = 20.0
STALE_S = 600.0  # a partial file older than this belongs to no running download
_CERTIFICATE = re.compile(r"certificate|CERTIFICATE_VERIFY_FAILED|SSLError|\bTLS\b|\[SSL", re.IGNORECASE)
_DNS = re.compile(
    r"name or service not known|name resolution|getaddrinfo failed|nodename nor servname|failed to resolve"
    r"|no address associated",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(r"timed out|timeout", re.IGNORECASE)
_RATE_LIMIT = re.compile(r"\b(?:error |: )429\b|too many requests", re.IGNORECASE)
_DISK = re.compile(r"no space left|disk quota exceeded", re.IGNORECASE)


class NoNetworkError(PretrainedError):
    """The file's host cannot be reached, or does not serve the file."""


class DownloadCancelled(PretrainedError):
    """The user stopped the download."""


def weights_folder() -> Path:
    """Return where published weights are kept: $VITVIZ_WEIGHTS, or the platform's cache folder."""
    chosen = os.environ.get("VITVIZ_WEIGHTS")
    return Path(chosen) if chosen else user_cache_path("vitviz") / "weights"


def weights_file(entry: Pretrained) -> Path:
    """Return where the published file of an entry may be copied; files of the hub stay in its cache."""
    return weights_folder() / entry.name / entry.file_name


def download(
    url: str,
    target: Path,
    progress: ByteProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
    sha256_start: str = "",
) -> Path:
    """Fetch `url` into `target` unless it is there; a partial file never carries that name.

    Raises:
        NoNetworkError: if the host cannot be reached, refuses, or stops answering.
        DownloadCancelled: if `cancelled()` becomes true.
        PretrainedError: if the file is too large or not the published one, or cannot be written.
    """
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
            try:
                digest = hashlib.sha256()
                with closing(_chunks(url, progress, cancelled)) as chunks:
                    for chunk in chunks:
                        part.write(chunk)
                        digest.update(chunk)
                _check(url, digest.hexdigest(), sha256_start)
                part.flush()
                os.replace(part.name, target)
            finally:
                Path(part.name).unlink(missing_ok=True)
    except OSError as error:  # the network's are named where it is read
        raise PretrainedError(
            f"the file cannot be written to {target.parent}: {error.strerror or error}"
        ) from error
    return target


def _check(url: str, digest: str, sha256_start: str) -> None:
    if not digest.startswith(sha256_start):
        raise PretrainedError(
            f"{url} is not the published file: expected a sha256 that starts with {sha256_start}, received {digest[:8]}"
        )


def _sweep(target: Path) -> None:
    """Remove partial files of interrupted downloads."""
    for part in target.parent.glob(f".{target.name}.*"):
        with suppress(FileNotFoundError):  # another download has swept it
            if abs(time.time() - part.stat().st_mtime) > STALE_S:  # the clock may have been set back since
                part.unlink()


def _chunks(
    url: str, progress: ByteProgress | None, cancelled: Callable[[], bool] | None
) -> Generator[bytes, None, None]:
    """Yield the file in chunks; only network errors are translated, not those of the consumer."""
    if not url.startswith(("https://", "http://")):
        raise PretrainedError(f"the address must start with http:// or https://, received {url}")
    host = url.split("/")[2]
    done = 0
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "vitviz"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            stated = answer.headers.get("Content-Length")
            total = int(stated) if stated else None
            if total is not None and total > MAX_BYTES:
                raise PretrainedError(f"{url} has {total:,} bytes, more than the limit of {MAX_BYTES:,}")
            while chunk := answer.read(CHUNK_BYTES):
                if not done and is_web_page(answer.headers.get("Content-Type", ""), chunk[:64]):
                    raise NoNetworkError(describe_sign_in_page(host))
                if cancelled is not None and cancelled():
                    raise DownloadCancelled(f"the download from {host} was stopped")
                done += len(chunk)
                if done > MAX_BYTES:
                    raise PretrainedError(f"{url} has more bytes than the limit of {MAX_BYTES:,}")
                yield chunk
                if progress is not None:
                    progress(done, total)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 429:
            raise NoNetworkError(describe_rate_limit(host, error.headers.get("Retry-After"))) from error
        raise NoNetworkError(f"{host} refused {url}: {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise NoNetworkError(describe_failure(host, f"{type(error).__name__} {error}")) from error
    if total is not None and done != total:
        raise NoNetworkError(f"{host} stopped after {done} of {total} bytes; try again")


def describe_failure(host: str, text: str) -> str:
    """Return why a host could not deliver a file, from an error's text, without a full stop.

    Args:
        host: name of the host, or of another source such as 'the package index'.
        text: texts of all errors that were raised or printed.
    """
    if _RATE_LIMIT.search(text):
        return describe_rate_limit(host, None)
    if _CERTIFICATE.search(text):
        return (
            f"the TLS certificate of {host} could not be verified: a proxy may replace it, or the clock of this"
            " machine is wrong"
        )
    if _DNS.search(text):
        return f"the name of {host} could not be resolved (DNS): check the network connection"
    if _TIMEOUT.search(text):
        return f"{host} did not answer in time"
    return f"{host} cannot be reached"


def describe_rate_limit(host: str, retry_after: str | None) -> str:
    """Return that a host limits requests and when to try again, from its header Retry-After."""
    if retry_after and retry_after.isdecimal():
        when = f"in {int(retry_after):,} s"
    elif retry_after:
        when = f"after {retry_after}"
    else:
        when = "in a few minutes"
    return f"{host} limits the rate of requests (429): try again {when}"


def describe_sign_in_page(host: str) -> str:
    return (
        f"{host} answered with a web page instead of the file: the network may require a sign-in; open any website in"
        " a browser of that machine first"
    )


def is_web_page(content_type: str, start: bytes) -> bool:
    """Return True if an answer is HTML by its header or its first bytes; no weights file begins like that."""
    return content_type.partition(";")[0].strip().lower() == "text/html" or start.lstrip()[:1] == b"<"


def is_full_disk(text: str) -> bool:
    return _DISK.search(text) is not None
