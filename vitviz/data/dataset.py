"""Hold a dataset as arrays in memory: checked once, labelled or not, split reproducibly."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]


class DatasetError(Exception):
    """A dataset cannot be had; the message is one sentence for the user, saying why and what to do."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset with a fixed train/test split; the arrays are read-only.

    A set without labels has no classes, and None for both labels. A set that is only looked at has no training
    images: its `train_images` are (0, H, W, C).

    train_images, test_images: (N, H, W, C) uint8, C 1 (grey) or 3 (RGB), H = W not required.
    train_labels, test_labels: (N,) int64 indices into `classes`, or None.
    test_names: what each test image shows, where no label says it.

    Raises:
        ValueError: if the arrays do not fit each other.
    """

    name: str
    train_images: Images
    train_labels: Labels | None
    test_images: Images
    test_labels: Labels | None
    classes: tuple[str, ...]
    test_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.classes) == 1:
            raise ValueError(f"classes must name at least 2 classes or none, received {self.classes!r}")
        for split in ("train", "test"):
            images, labels = getattr(self, f"{split}_images"), getattr(self, f"{split}_labels")
            _check_images(split, images)
            _check_labels(split, labels, len(images), self.classes)
        if not len(self.test_images):
            raise ValueError("test_images must hold at least 1 image, received none")
        if self.train_images.shape[1:] != self.test_images.shape[1:]:
            raise ValueError(
                f"train and test images must share one shape, received {self.train_images.shape[1:]}"
                f" and {self.test_images.shape[1:]}"
            )
        if self.test_names and len(self.test_names) != len(self.test_images):
            raise ValueError(
                f"test_names must name {len(self.test_images)} images, received {len(self.test_names)}"
            )
        for array in (self.train_images, self.train_labels, self.test_images, self.test_labels):
            if array is not None:
                array.flags.writeable = False  # shared by every visit and every cache

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of one image."""
        _, height, width, channels = self.test_images.shape
        return height, width, channels

    def labels_of(self, split: Literal["train", "test"]) -> Labels:
        """Return the labels of a split, (N,) int64.

        Raises:
            DatasetError: if the set has none.
        """
        labels = self.train_labels if split == "train" else self.test_labels
        if labels is None:
            raise DatasetError(
                f"'{self.name}' has no labels, so accuracy is undefined: choose a dataset with classes,"
                " such as 'cifar10-few' or 'digits'."
            )
        return labels

    def test_name(self, index: int) -> str:
        """Return what a test image shows: its class, or, without labels, its own name; '' where neither is known."""
        if self.test_labels is not None:
            return self.classes[int(self.test_labels[index])]
        return self.test_names[index] if self.test_names else ""

    def check_trainable(self) -> None:
        """Check that a dataset has labels and training images.

        Raises:
            DatasetError: if it has no labels, or no training images.
        """
        lacks = "no labels" if not self.classes else "" if len(self.train_images) else "test images only"
        if lacks:
            raise DatasetError(
                f"'{self.name}' has {lacks}, so no model can be trained on it: choose a dataset for training, such as"
                " 'digits', 'shapes' or 'cifar10'."
            )


def _check_images(split: str, images: Images) -> None:
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise ValueError(
            f"{split}_images must be uint8 (N, H, W, 1 or 3) of at least one pixel,"
            f" received {images.dtype} {images.shape}"
        )


def _check_labels(split: str, labels: Labels | None, count: int, classes: tuple[str, ...]) -> None:
    if labels is None or not classes:
        if labels is not None or classes:
            raise ValueError(
                f"{split}_labels and classes go together, received {'no' if labels is None else 'some'} labels"
                f" and {len(classes)} classes"
            )
        return
    if labels.dtype != np.int64 or labels.shape != (count,):
        raise ValueError(f"{split}_labels must be int64 ({count},), received {labels.dtype} {labels.shape}")
    if count and (labels.min() < 0 or labels.max() >= len(classes)):
        raise ValueError(
            f"{split}_labels must lie in 0..{len(classes) - 1}, received {labels.min()}..{labels.max()}"
        )


def stratified_split(labels: Labels, fraction: float, seed: int) -> tuple[Labels, Labels]:
    """Return two disjoint index arrays, in random order, in which every class keeps its share.

    Args:
        labels: (N,) class indices.
        fraction: the second part's share, in (0, 1). A class of two or more images has at least one in each
            part, a class of one has it in the first.

    Returns:
        (first, second) int64 indices into `labels`; together they are 0..N-1.

    Raises:
        ValueError: if the fraction does not lie in (0, 1).
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie in (0, 1), received {fraction!r}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    held_out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = order[labels[order] == label]
        wanted = round(fraction * len(members))
        held_out[members[: min(max(wanted, 1), len(members) - 1)]] = True
    return order[~held_out[order]], order[held_out[order]]


def validation_split(dataset: Dataset, fraction: float, seed: int) -> tuple[Labels, Labels]:
    """Return (train, validation) indices into the training set, stratified and disjoint; the test set is untouched.

    Args:
        fraction: the validation set's share, in (0, 1).

    Raises:
        DatasetError: if the dataset has no labels or training images.
    """
    dataset.check_trainable()
    return stratified_split(dataset.labels_of("train"), fraction, seed)
