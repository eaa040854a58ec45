"""Load 200 CIFAR-10 test images that are shipped with the checkpoints.

The rule flatters no model: of each class the first 20 in the file's order, whatever anybody answers to them.
`python -m vitviz.data.cifar10_few` writes the two files again from $VITVIZ_DATA/cifar10.npz.
"""

import hashlib
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vitviz.data.dataset import Dataset, DatasetError, Images, Labels
from vitviz.data.dataset_cache import data_file, read_dataset

NAME = "cifar10-few"
PER_CLASS = 20
FOLDER = Path(__file__).resolve().parents[2] / "checkpoints"
PICTURES, WORDS = "cifar10_few.png", "cifar10_few.json"
SIDE_PX = 32
_ABOUT = {
    "title": "CIFAR-10, a few",
    "source": "CIFAR-10's test set, https://www.cs.toronto.edu/~kriz/cifar.html",
    "citation": "Alex Krizhevsky: Learning Multiple Layers of Features from Tiny Images, technical report, 2009",
    "licence": "published for research without a licence text; the photographs are their authors'. Not under this"
    " project's licence: kept here as a sample, with its citation",
    "rule": f"of each class the first {PER_CLASS} test images in the order of the file that they were taken from",
    "file": "a JPEG re-encoding of CIFAR-10 with an order of its own, which the models beside it learned from and were"
    " tested on; 'indices' count in it; stored here without further loss",
    "layout": f"one row a class, {PER_CLASS} images of {SIDE_PX} x {SIDE_PX} px side by side",
}


def few_dataset(folder: Path = FOLDER) -> Dataset:
    """Return the 200 images as test images, without training images.

    Raises:
        DatasetError: if the two files are not there or are not those that were written.
    """
    try:
        words = json.loads((folder / WORDS).read_text("utf-8"))
        raw = (folder / PICTURES).read_bytes()
        if hashlib.sha256(raw).hexdigest() != words["sha256"]:
            raise ValueError(f"{PICTURES} is not the file that {WORDS} describes")
        with Image.open(io.BytesIO(raw), formats=("PNG",)) as mosaic:
            pixels = np.array(mosaic)
        classes = tuple(str(label) for label in words["classes"])
        rows = pixels.reshape(len(classes), SIDE_PX, PER_CLASS, SIDE_PX, 3)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"'{NAME}' cannot be read from {folder} ({error}): take the project's files again, or go on with 'photos'."
        ) from error
    images = rows.transpose(0, 2, 1, 3, 4).reshape(-1, SIDE_PX, SIDE_PX, 3)
    labels = np.repeat(np.arange(len(classes)), PER_CLASS).astype(np.int64)
    turn = (
        np.arange(len(labels)).reshape(len(classes), PER_CLASS).T.ravel()
    )  # the first few are of all classes
    return Dataset(NAME, images[:0], labels[:0], images[turn], labels[turn], classes)


@cache
def clearest(folder: Path = FOLDER) -> dict[str, int]:
    """Return (index among the 200, index in the file) of the image with the highest minimum confidence."""
    try:
        words = json.loads((folder / WORDS).read_text("utf-8"))
        number = int(words["clearest"])
        turn, row = divmod(number, len(words["classes"]))
        return {NAME: number, "cifar10": int(words["indices"][row][turn])}
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}


def choose(labels: Labels, classes: int) -> Labels:
    """Return (classes, PER_CLASS) indices into the test set: of each class the first in its order.

    Raises:
        ValueError: if a class has fewer.
    """
    first_indices = [np.flatnonzero(labels == label)[:PER_CLASS] for label in range(classes)]
    if min(len(indices) for indices in first_indices) < PER_CLASS:
        raise ValueError(
            f"every class needs {PER_CLASS} test images, received {[len(i) for i in first_indices]}"
        )
    return np.stack(first_indices).astype(np.int64)


def write_few(dataset: Dataset, folder: Path) -> None:
    """Write the selected CIFAR-10 test images as PNG and their description as JSON."""
    indices = choose(dataset.labels_of("test"), len(dataset.classes))
    raw = _png(dataset.test_images[indices])
    words = _ABOUT | {
        "classes": dataset.classes,
        "indices": indices.tolist(),
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    (folder / PICTURES).write_bytes(raw)
    write_words(folder / WORDS, words)


def write_words(file: Path, words: dict[str, Any]) -> None:
    """Write the description of the images, one fact per line."""
    lines = (f"  {json.dumps(key)}: {json.dumps(fact, ensure_ascii=False)}" for key, fact in words.items())
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _png(rows: Images) -> bytes:
    """Return (classes, PER_CLASS, S, S, 3) as one image, a class in a row."""
    classes, per_class, side, _, channels = rows.shape
    mosaic = rows.transpose(0, 2, 1, 3, 4).reshape(classes * side, per_class * side, channels)
    file = io.BytesIO()
    Image.fromarray(mosaic).save(file, "PNG", optimize=True)
    return file.getvalue()


if __name__ == "__main__":
    write_few(read_dataset("cifar10", data_file("cifar10")), FOLDER)
    print(f"{FOLDER / PICTURES}: {(FOLDER / PICTURES).stat().st_size / 1000:,.0f} kB")
