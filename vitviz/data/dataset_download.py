"""Download MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100 with torchvision's addresses and checksums."""

import hashlib
import http.client
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vitviz.data.dataset import Dataset, DatasetError, Images, Labels
from vitviz.data.dataset_cache import data_file, read_dataset, write_dataset
from vitviz.locks import locked
from vitviz.torchvision_fix import import_torchvision

ShareProgress = Callable[[float, str], None]  # (share done in [0, 1], what is being done)
TIMEOUT_S = 20.0  # per connection and read
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class _Archive:
    urls: tuple[str, ...]  # mirrors of one file
    path: Path
    md5: str


def download_dataset(name: str, progress: ShareProgress | None = None) -> Dataset:
    """Download a dataset, verify it, and store it as an .npz file.

    If several processes share the folder, one downloads and the others wait.

    Args:
        name: 'mnist', 'fashion-mnist', 'cifar10' or 'cifar100'.
        progress: called with (share done, current step); an error that it raises cancels the download.
            None: a progress bar on the terminal.

    Raises:
        DatasetError: if the network, the disk or a file fails.
    """
    target = data_file(name)
    was_here = target.is_file()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _reporting(progress, name) as report:
            waiting = partial(report, 0.0, f"{name}: another process is downloading it")
            with locked(target.with_name(f".{name}.lock"), waiting):
                if target.is_file() and not was_here:
                    return read_dataset(name, target)
                return _download(name, target, report)
    except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
        raise DatasetError(
            f"The dataset '{name}' could not be downloaded ({_cause(error)}). Check the network and try again, copy"
            f" {target.name} to {target.parent}, set VITVIZ_DATA to the folder that has it, or use 'digits' or"
            " 'shapes', which need no network."
        ) from error


def _download(name: str, target: Path, report: ShareProgress) -> Dataset:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        source = _source(name)
        _fetch_all(_archives(source, Path(folder)), report)
        report(1.0, f"{name}: unpacking")
        dataset = _assemble(name, source, folder)
        write_dataset(dataset, target)
    return dataset


def _source(name: str) -> Any:
    import_torchvision()
    from torchvision import datasets

    return {
        "mnist": datasets.MNIST,
        "fashion-mnist": datasets.FashionMNIST,
        "cifar10": datasets.CIFAR10,
        "cifar100": datasets.CIFAR100,
    }[name]


def _archives(source: Any, folder: Path) -> list[_Archive]:
    """Return the files that torchvision would download, at the paths where it expects them."""
    if hasattr(source, "resources"):
        raw = folder / source.__name__ / "raw"
        return [
            _Archive(tuple(mirror + file for mirror in source.mirrors), raw / file, md5)
            for file, md5 in source.resources
        ]
    return [_Archive((source.url,), folder / source.filename, source.tgz_md5)]


def _fetch_all(archives: list[_Archive], report: ShareProgress) -> None:
    for number, archive in enumerate(archives):
        archive.path.parent.mkdir(parents=True, exist_ok=True)
        failures: list[Exception] = []
        for url in archive.urls:
            try:
                _fetch(url, archive, report, number, len(archives))
                break
            except (OSError, ValueError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()  # the error object holds the connection
                failures.append(error)
        else:
            raise failures[0]


def _fetch(url: str, archive: _Archive, report: ShareProgress, number: int, count: int) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "vitviz"})
    digest = hashlib.md5(usedforsecurity=False)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response, archive.path.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        received = 0
        while chunk := response.read(CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            size = f"{received / 1e6:.1f} of {total / 1e6:.1f} MB" if total else f"{received / 1e6:.1f} MB"
            share = min(received / total, 1.0) if total else 0.0
            report((number + share) / count, f"{archive.path.name}: {size}")
    if digest.hexdigest() != archive.md5:
        raise ValueError(
            f"{archive.path.name} is damaged: expected MD5 {archive.md5}, received {digest.hexdigest()}"
        )


def _assemble(name: str, source: Any, folder: str) -> Dataset:
    train, test = (source(folder, train=split, download=True) for split in (True, False))
    classes = [str(digit) for digit in range(10)] if name == "mnist" else train.classes
    return Dataset(
        name,
        _images(train.data),
        _labels(train.targets),
        _images(test.data),
        _labels(test.targets),
        tuple(label.replace("_", " ") for label in classes),
    )


def _images(pixels: Any) -> Images:
    """torchvision's (N, H, W) grey tensor or (N, H, W, 3) array as (N, H, W, C)."""
    array: Images = np.array(pixels.numpy() if hasattr(pixels, "numpy") else pixels, dtype=np.uint8)
    return array if array.ndim == 4 else array[..., None]


def _labels(targets: Any) -> Labels:
    return np.array(targets.numpy() if hasattr(targets, "numpy") else targets, dtype=np.int64)


@contextmanager
def _reporting(progress: ShareProgress | None, name: str) -> Iterator[ShareProgress]:
    if progress is not None:
        yield progress
        return
    from tqdm import tqdm

    with tqdm(total=100, desc=name, unit="%", file=sys.stderr, disable=None) as bar:

        def draw(share: float, text: str) -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update(int(100 * share) - bar.n)

        yield draw


def _cause(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.url} answered {error.code}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection: {error.reason}"
    return " ".join(str(error).split())[:200] or type(error).__name__
