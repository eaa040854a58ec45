"""Download MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100 with torchvision's addresses and checksums."""

import sys
import tempfile
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
from vitviz.models.file_download import download
from vitviz.models.pretrained_list import PretrainedError
from vitviz.torchvision_fix import import_torchvision

ShareProgress = Callable[[float, str], None]  # (share done in [0, 1], what is being done)


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
    except (OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error).split())[:200] or type(error).__name__
        raise DatasetError(
            f"The dataset '{name}' could not be downloaded ({cause}). Check the network and try again, copy"
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
        failures: list[PretrainedError] = []
        for url in archive.urls:
            try:
                _fetch(url, archive, report, number, len(archives))
                break
            except PretrainedError as error:
                failures.append(error)
        else:
            raise failures[0]


def _fetch(url: str, archive: _Archive, report: ShareProgress, number: int, count: int) -> None:
    from torchvision.datasets.utils import check_integrity

    def tell(received: int, total: int | None) -> None:
        size = f"{received / 1e6:.1f} of {total / 1e6:.1f} MB" if total else f"{received / 1e6:.1f} MB"
        report((number + (received / total if total else 0.0)) / count, f"{archive.path.name}: {size}")

    download(url, archive.path, tell)
    if not check_integrity(archive.path, archive.md5):
        archive.path.unlink()
        raise PretrainedError(f"{archive.path.name} is damaged: its MD5 is not {archive.md5}")


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
