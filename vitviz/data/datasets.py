"""Load datasets by name, each once.

`DATASETS` are labelled and learned from: two that are always there, four from the network. `LOOKED_AT` are only looked
at, and always there.
"""

import gzip
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from vitviz.data import cifar10_few, drawings, samples
from vitviz.data.dataset import Dataset, DatasetError, Images, stratified_split
from vitviz.data.dataset_cache import data_file, has_arrays, read_dataset
from vitviz.data.samples import NOTES
from vitviz.data.shapes import shapes_dataset
from vitviz.data.uploaded_datasets import hide_secret_name, is_uploaded, load_uploaded

DIGITS_PX = 32
DIGITS_TEST_FRACTION = 0.2
SPLIT_SEED = 0


@dataclass(frozen=True)
class DatasetNote:
    """Facts about a dataset that is not loaded yet, and whether it needs a file, and so perhaps a network."""

    title: str
    summary: str
    source: str
    needs_file: bool


DATASETS: dict[str, DatasetNote] = {name: DatasetNote(**entry) for name, entry in NOTES["datasets"].items()}
DISPLAY_ONLY: dict[str, DatasetNote] = {
    "photos": DatasetNote(
        "Photos",
        f"{samples.COUNT} overlapping crops of {len(samples.SOURCES)} free photographs,"
        f" {samples.CROP_PX} × {samples.CROP_PX}, RGB, without labels.",
        "NASA, SpaceX and others, CC0 or public domain; as scikit-image installs them",
        False,
    ),
    cifar10_few.NAME: DatasetNote(
        "CIFAR-10 (sample)",
        f"200 CIFAR-10 test images, the first {cifar10_few.PER_CLASS} of each class: 32 × 32, RGB, re-encoded as JPEG.",
        "Krizhevsky 2009",
        False,
    ),
}
# Where a model's own images are not on this machine: the nearest that always are.
_NEAREST = {
    "mnist": "digits",
    "fashion-mnist": "digits",
    "cifar10": cifar10_few.NAME,
    "cifar100": cifar10_few.NAME,
}
_NOTES = DATASETS | DISPLAY_ONLY
_locks = {name: threading.Lock() for name in _NOTES}  # two visits must not download or draw one set twice


def available_datasets() -> tuple[str, ...]:
    """Return the names of trainable datasets that load without a network."""
    return tuple(name for name in DATASETS if _is_here(name))


def available_titles(names: Iterable[str]) -> dict[str, str]:
    """Return the titles of those datasets that load without a network."""
    available = available_datasets()
    return {name: DATASETS[name].title for name in names if name in available}


def _is_here(name: str) -> bool:
    return not DATASETS[name].needs_file or _usable(data_file(name))


def has_images(name: str) -> bool:
    """Return True if a name is that of a dataset whose test images load without a network."""
    return name in DISPLAY_ONLY or (name in DATASETS and _is_here(name))


def picture_sets() -> tuple[str, ...]:
    """Return the names of datasets whose test images load without a network."""
    return (*available_datasets(), *DISPLAY_ONLY)


def default_pictures(trained_on: str | None, in_chans: int) -> str:
    """Return the dataset shown first with a model: its own if available, else the nearest.

    Args:
        trained_on: what the model learned from, a name in `DATASETS` or any other words; None for random weights.
        in_chans: 1 for a model of grey images, 3 for one of colour images.
    """
    name = str(trained_on)
    if has_images(name):
        return name
    return _NEAREST.get(name, "digits" if in_chans == 1 else "photos")


def tested(name: str) -> str:
    """Return the dataset that contains these test images: 'cifar10' for its 200 shipped images."""
    return "cifar10" if name == cifar10_few.NAME else name


def first_number(name: str) -> int:
    """Return the index of the test image shown first; for CIFAR-10 one that all shipped models classify correctly."""
    return cifar10_few.clearest().get(name, 0)


def default_picture(trained_on: str | None, in_chans: int) -> str:
    """Return the key of the image that a model is shown with at first; of `photos`, which say nothing, a sample.

    A model of MNIST, which reads drawings, starts with one.
    """
    if trained_on == "mnist":
        return f"drawing:{drawings.FIRST}"
    name = default_pictures(trained_on, in_chans)
    return "sample:cat" if name == "photos" else f"{name}:{first_number(name)}"


def data_title(name: str) -> str:
    """Return the title of a dataset, 'CIFAR-10' for 'cifar10'; a user's dataset keeps its name secret."""
    return _NOTES[name].title if name in _NOTES else hide_secret_name(name)


def find_note(name: str) -> DatasetNote:
    """Return what to say about a set before it is loaded.

    Raises:
        DatasetError: if there is no such set.
    """
    if name not in _NOTES:
        raise DatasetError(f"There is no dataset '{name}': choose one of {', '.join(_NOTES)}.")
    return _NOTES[name]


def load_dataset(
    name: str, progress: Callable[[float, str], None] | None = None, runs_folder: Path | None = None
) -> Dataset:
    """Return a set by name, from memory, from its file, or, where that is missing, from the network.

    Args:
        name: one of `DATASETS` or `LOOKED_AT`, or a user's own (see `own`).
        progress: told (share done, what is being done) while a download runs; see `download_dataset`.
        runs_folder: where users' own sets lie.

    Raises:
        DatasetError: if there is no such set, its file is damaged, or it cannot be downloaded.
    """
    if is_uploaded(name):
        return load_uploaded(name, runs_folder)
    needs_file = find_note(name).needs_file
    with _locks[name]:
        if not needs_file:
            return _ALWAYS_HERE[name]()
        path = data_file(name)
        if not path.is_file():
            from vitviz.data.dataset_download import (
                download_dataset,  # torch and torchvision: only where needed
            )

            download_dataset(name, progress)
        try:
            state = path.stat()
            return _from_file(name, path, state.st_mtime_ns, state.st_size)
        except FileNotFoundError as error:
            raise DatasetError(
                f"The file of the dataset '{name}' has just been deleted: try again."
            ) from error
        except DatasetError:
            _damaged.add((path, state.st_mtime_ns))
            raise


def _usable(path: Path) -> bool:
    """Return True unless a file is known to be unreadable as it is."""
    try:
        stat = path.stat()
        is_whole = has_arrays(path, stat.st_mtime_ns, stat.st_size)
        return is_whole and (path, stat.st_mtime_ns) not in _damaged
    except OSError:
        return False


_damaged: set[tuple[Path, int]] = set()


@lru_cache(maxsize=2)  # CIFAR and one other: 0.25 GB at most
def _from_file(name: str, path: Path, mtime_ns: int, size_bytes: int) -> Dataset:
    return read_dataset(name, path)


def _digits() -> Dataset:
    # A row: 64 counts of 0..16 inked pixels, and the label; np.loadtxt takes four times as long.
    text = gzip.decompress(_digits_file().read_bytes()).decode("ascii")
    table = np.array(text.replace("\n", ",").rstrip(",").split(","), np.uint8).reshape(-1, 65)
    images = _enlarge(np.rint(table[:, :64].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8))
    labels = table[:, 64].astype(np.int64)
    train, test = stratified_split(labels, DIGITS_TEST_FRACTION, SPLIT_SEED)
    names = tuple(str(digit) for digit in range(10))
    return Dataset("digits", images[train], labels[train], images[test], labels[test], names)


def _digits_file() -> Path:
    """scikit-learn's own file, read without importing scikit-learn, which takes a second."""
    package = find_spec("sklearn")
    folders = package.submodule_search_locations if package else None
    if not folders:
        raise DatasetError("The dataset 'digits' needs scikit-learn: run `pip install -r requirements.txt`.")
    return Path(folders[0]) / "datasets" / "data" / "digits.csv.gz"


def _enlarge(small: Images) -> Images:
    size = (DIGITS_PX, DIGITS_PX)
    enlarged = [
        Image.frombytes("L", image.shape, image.tobytes()).resize(size, Image.Resampling.BICUBIC).tobytes()
        for image in small
    ]
    return np.frombuffer(b"".join(enlarged), np.uint8).reshape(-1, *size, 1)


_ALWAYS_HERE: dict[str, Callable[[], Dataset]] = {
    "digits": cache(_digits),
    "shapes": cache(shapes_dataset),
    "photos": cache(samples.photos_dataset),
    cifar10_few.NAME: cache(cifar10_few.few_dataset),
}
