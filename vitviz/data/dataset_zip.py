"""Read a user's labelled images from a zip with one folder per class.

Nothing is unpacked to disk. Files that are not images are skipped and listed; an empty dataset is an error.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from vitviz import upload_limits as limits
from vitviz.config import Preparation
from vitviz.data.bounded_zip import BoundedZip, EntryError, ZipError, ZipLimits
from vitviz.data.dataset import Dataset, DatasetError, Images, stratified_split
from vitviz.data.image_decoding import ImageError, picture_pixels
from vitviz.data.image_preprocessing import prepare
from vitviz.data.image_worker import decode_in_worker
from vitviz.text import cut

NAME = "your images"
TEST_FRACTION = 0.2  # of every class, where the zip has no folder 'test'
SEED = 0  # of what is chosen and split
_TRAIN = {"train", "training"}
_TEST = {"test", "testing", "val", "valid", "validation"}
_JUNK = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"}


CountProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class PictureBudget:
    """The pixels and seconds that the images of one upload may cost together."""

    pixels: int = limits.DATASET_PIXELS
    seconds: float = 90.0  # from the first file read to the last image decoded


@dataclass(frozen=True)
class Skipped:
    """A skipped file and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class UploadedImages:
    """A user's dataset, and the files that are not in it."""

    dataset: Dataset
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class _ZipEntry:
    path: PurePosixPath
    read: Callable[[], bytes]


@dataclass(frozen=True)
class _Labelled:
    label: str
    entry: _ZipEntry
    test: bool | None = None  # of a set that is split already: whether it is a test image

    @property
    def name(self) -> str:
        return str(self.entry.path)


class _Clock:
    """Reports progress, and raises DatasetError when the upload's time limit is exceeded."""

    def __init__(self, budget: PictureBudget, progress: CountProgress | None) -> None:
        self.budget, self._progress, self._started = budget, progress, time.monotonic()

    def tick(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)
        if time.monotonic() - self._started > self.budget.seconds:
            raise DatasetError(
                f"Decoding stopped at the limit of {self.budget.seconds:g} seconds per upload, after {done:,}"
                f" of {total:,}"
                " images: use fewer or smaller images."
            )


def load_zip(
    zip_bytes: bytes,
    image_size: int = 32,
    *,
    budget: PictureBudget | None = None,
    progress: CountProgress | None = None,
) -> UploadedImages:
    """Return the labelled images in a zip archive, read in memory; archives inside it are not opened.

    All headers are read first, so that a too large archive is refused before a pixel is decoded. Images of other users
    are decoded in turn with these.

    Args:
        zip_bytes: the archive: one folder per class, at least two classes of at least two images; or the folders
            'train' and 'test' with such folders.
        image_size: side in px to which every image's centre square is resized.
        budget: pixels and seconds for all images; None: `PictureBudget()`.
        progress: called with (images decoded, images in all) before each; its exceptions propagate.

    Raises:
        DatasetError: if it is not a zip, is a zip bomb, exceeds the budget, or contains no dataset.
    """
    try:
        archive = BoundedZip(zip_bytes, ZipLimits(limits.DATASET_FILES, limits.DATASET_UNPACKED_BYTES))
    except ZipError as error:
        raise DatasetError(f"This archive cannot be read: {error}.") from error
    skipped: list[Skipped] = []
    clock = _Clock(budget or PictureBudget(), progress)
    return _collect(_zip_entries(archive, skipped), skipped, image_size, clock)


def _zip_entries(archive: BoundedZip, skipped: list[Skipped]) -> list[_ZipEntry]:
    entries = []
    for info in archive.files:
        if len(info.filename) > limits.PATH_LENGTH:
            reason = f"its name has more than {limits.PATH_LENGTH:,} characters"
            skipped.append(Skipped(cut(info.filename), reason))
            continue
        name = info.filename.replace("\\", "/")
        if name.count("/") > limits.FOLDER_DEPTH:
            skipped.append(Skipped(cut(name), f"it is nested more than {limits.FOLDER_DEPTH} folders deep"))
            continue
        path = PurePosixPath(name)
        if not path.parts or any(part in _JUNK or part.startswith("._") for part in path.parts):
            continue
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            skipped.append(Skipped(info.filename, "its name points outside the archive"))
        else:
            entries.append(_ZipEntry(path, lambda info=info: archive.read(info, limits.IMAGE_BYTES + 1)))  # type: ignore[misc]
    return entries


def _collect(
    entries: list[_ZipEntry], skipped: list[Skipped], image_size: int, clock: _Clock
) -> UploadedImages:
    labelled = _within_budget(_select_files(entries, skipped, image_size), image_size, skipped, clock)
    images = _decode_all(labelled, image_size, skipped, clock)
    return UploadedImages(_split(images, skipped), tuple(skipped))


def _select_files(entries: list[_ZipEntry], skipped: list[Skipped], image_size: int) -> list[_Labelled]:
    """Return the files in class folders, up to the largest number of images."""
    if not 8 <= image_size <= limits.DATASET_IMAGE_PX:
        raise DatasetError(
            f"Expected images of 8 to {limits.DATASET_IMAGE_PX} pixels, received {image_size}."
        )
    labelled = _labelled(entries, skipped)
    room = min(limits.DATASET_IMAGES, limits.DATASET_BYTES // (image_size * image_size * 3))
    if len(labelled) <= room:
        return labelled
    # a seeded choice over all classes: the first N would be the first classes only
    chosen = set(np.random.default_rng(SEED).permutation(len(labelled))[:room].tolist())
    left = [file for i, file in enumerate(labelled) if i not in chosen]
    skipped.extend(Skipped(file.name, f"only {room:,} images of this size fit into memory") for file in left)
    return [file for i, file in enumerate(labelled) if i in chosen]


def _labelled(entries: list[_ZipEntry], skipped: list[Skipped]) -> list[_Labelled]:
    """Return the class and file for every file in a class folder; a folder around all of them is passed through."""
    depth = 0
    while True:
        inside = [entry for entry in entries if len(entry.path.parts) > depth + 1]
        deeper = any(len(entry.path.parts) > depth + 2 for entry in inside)
        if not deeper or len({entry.path.parts[depth] for entry in inside}) > 1:
            break
        depth += 1
    outside = [entry for entry in entries if len(entry.path.parts) <= depth + 1]
    skipped.extend(Skipped(str(entry.path), "it is not in a class folder") for entry in outside)
    labelled = [_Labelled(entry.path.parts[depth], entry) for entry in inside]
    labels = {file.label for file in labelled}
    if labels and {label.lower() for label in labels} <= _TRAIN | _TEST:
        labelled = _split_already(inside, depth)
        labels = {file.label for file in labelled}
    if len(labels) > limits.DATASET_CLASSES:
        raise DatasetError(
            f"There are {len(labels):,} class folders; the limit is {limits.DATASET_CLASSES}. The outermost folder"
            " with siblings is the class."
        )
    odd = [label for label in labels if len(label) > limits.CLASS_NAME_LENGTH or not label.isprintable()]
    if odd:
        raise DatasetError(
            f"A class folder must have a printable name of at most {limits.CLASS_NAME_LENGTH} characters,"
            f" received {min(odd)[:80]!r}."
        )
    if len(labels) < 2:
        received = f"one class, '{next(iter(labels))}'" if labels else "no class folder"
        raise DatasetError(
            f"The archive must have one sub-folder per class and at least two classes; received {received}."
        )
    return labelled


def _split_already(inside: list[_ZipEntry], depth: int) -> list[_Labelled]:
    """Return the files of a folder 'train' and a folder 'test' that hold one folder per class each."""
    splits = {entry.path.parts[depth] for entry in inside}
    kinds = [split.lower() in _TEST for split in sorted(splits)]
    if sorted(kinds) != [False, True] or any(len(entry.path.parts) < depth + 3 for entry in inside):
        raise DatasetError(
            f"The sub-folders are {_list_labels(splits)}, which are splits, not classes: put one sub-folder"
            " per class into 'train' and 'test', or into one of them."
        )
    return [
        _Labelled(entry.path.parts[depth + 1], entry, entry.path.parts[depth].lower() in _TEST)
        for entry in inside
    ]


def _within_budget(
    labelled: list[_Labelled], image_size: int, skipped: list[Skipped], clock: _Clock
) -> list[_Labelled]:
    """Return the image files without duplicates; raise DatasetError if their total size is too large."""
    seen: dict[bytes, str] = {}
    accepted, pixels = [], 0
    for file, encoded in _read_all(labelled, skipped):
        clock.tick(0, len(labelled))
        digest = hashlib.sha256(encoded).digest()
        if digest in seen:  # a copy could land on both sides of the split
            skipped.append(Skipped(file.name, f"it is a copy of {seen[digest]}"))
            continue
        try:
            pixels += picture_pixels(encoded)
        except ImageError as error:
            skipped.append(Skipped(file.name, str(error)))
            continue
        seen[digest] = file.name
        accepted.append(file)
    if pixels > clock.budget.pixels:
        raise DatasetError(
            f"Together these {len(accepted):,} images have {pixels / 1e6:,.0f} megapixels; the limit is"
            f" {clock.budget.pixels / 1e6:,.0f} in up to {limits.DATASET_IMAGES:,} images. Make them smaller first:"
            f" they are resized to {image_size} × {image_size} pixels anyway."
        )
    return accepted


def _decode_all(
    labelled: list[_Labelled], image_size: int, skipped: list[Skipped], clock: _Clock
) -> tuple[Images, list[_Labelled]]:
    """Return all images in one array, and the files that they are."""
    preparation = Preparation(image_size=image_size)
    images = np.empty((len(labelled), image_size, image_size, 3), np.uint8)
    decoded_files: list[_Labelled] = []
    for done, (file, encoded) in enumerate(_read_all(labelled, skipped)):
        clock.tick(done, len(labelled))
        try:
            images[len(decoded_files)] = prepare(decode_in_worker(encoded).pixels, preparation).shown
            decoded_files.append(file)
        except ImageError as error:
            skipped.append(Skipped(file.name, str(error)))
    return images[: len(decoded_files)], decoded_files


def _read_all(labelled: list[_Labelled], skipped: list[Skipped]) -> Iterator[tuple[_Labelled, bytes]]:
    for file in labelled:
        try:
            encoded = file.entry.read()
        except EntryError as error:
            skipped.append(Skipped(file.name, str(error)))
        except OSError as error:
            skipped.append(Skipped(file.name, f"it cannot be read ({error.strerror or error})"))
        else:
            yield file, encoded


def _split(pictures: tuple[Images, list[_Labelled]], skipped: list[Skipped]) -> Dataset:
    images, files = pictures
    named = [file.label for file in files]
    whole = {label for label, count in Counter(named).items() if count > 1}
    if already := any(file.test is not None for file in files):
        whole = {file.label for file in files if file.test} & {file.label for file in files if not file.test}
    lacks = "this class has one image; at least one training and one test image are needed"
    if already:
        lacks = "this class has no training image or no test image"
    skipped.extend(Skipped(label, lacks) for label in dict.fromkeys(named) if label not in whole)
    classes = tuple(sorted(whole))
    if len(classes) < 2:
        first = f" First skipped file: {cut(skipped[0].name)}, {skipped[0].reason}" if skipped else ""
        raise DatasetError(
            "At least two classes with two images each are needed;"
            f" usable classes: {_list_labels(classes) or 'none'}; skipped files: {len(skipped)}.{first}"
        )
    order = np.array([i for label in classes for i, file_label in enumerate(named) if file_label == label])
    labels = np.array([classes.index(named[i]) for i in order], np.int64)
    if already:
        tests = np.array([bool(files[i].test) for i in order])
        train, test = np.flatnonzero(~tests), np.flatnonzero(tests)
    else:
        train, test = stratified_split(labels, TEST_FRACTION, SEED)
    return Dataset(NAME, images[order[train]], labels[train], images[order[test]], labels[test], classes)


def _list_labels(labels: set[str] | tuple[str, ...]) -> str:
    return ", ".join(f"'{label}'" for label in sorted(labels))
