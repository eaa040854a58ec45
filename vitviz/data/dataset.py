"""What a labelled set of pictures is: arrays in memory, checked once, and split reproducibly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]


class DatasetError(Exception):
    """A data set cannot be had; the message is one sentence for the visitor, saying why and what to do."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled set of pictures with a fixed train/test split; the arrays are read-only.

    train_images, test_images: (N, H, W, C) uint8, C 1 (grey) or 3 (RGB), H = W not required.
    train_labels, test_labels: (N,) int64 indices into `classes`.

    Raises:
        ValueError: if the arrays do not fit each other.
    """

    name: str
    train_images: Images
    train_labels: Labels
    test_images: Images
    test_labels: Labels
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        for split in ("train", "test"):
            _check_split(
                split, getattr(self, f"{split}_images"), getattr(self, f"{split}_labels"), self.classes
            )
        if self.train_images.shape[1:] != self.test_images.shape[1:]:
            raise ValueError(
                f"train and test pictures must share one shape, received {self.train_images.shape[1:]}"
                f" and {self.test_images.shape[1:]}"
            )
        for array in (self.train_images, self.train_labels, self.test_images, self.test_labels):
            array.flags.writeable = False  # shared by every visit and every cache

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of one picture."""
        _, height, width, channels = self.train_images.shape
        return height, width, channels


def _check_split(split: str, images: Images, labels: Labels, classes: tuple[str, ...]) -> None:
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape:
        raise ValueError(
            f"{split}_images must be uint8 (N, H, W, 1 or 3) and not empty,"
            f" received {images.dtype} {images.shape}"
        )
    if labels.dtype != np.int64 or labels.shape != images.shape[:1]:
        raise ValueError(
            f"{split}_labels must be int64 ({images.shape[0]},), received {labels.dtype} {labels.shape}"
        )
    if len(classes) < 2:
        raise ValueError(f"classes must name at least 2 classes, received {classes!r}")
    if labels.min() < 0 or labels.max() >= len(classes):
        raise ValueError(
            f"{split}_labels must lie in 0..{len(classes) - 1}, received {labels.min()}..{labels.max()}"
        )


def stratified_split(labels: Labels, fraction: float, seed: int) -> tuple[Labels, Labels]:
    """Two disjoint index arrays, in random order, in which every class keeps its share.

    Args:
        labels: (N,) class indices.
        fraction: the second part's share, in (0, 1). A class of two or more pictures has at least one in each
            part, a class of one has it in the first.
        seed: fixes the split.

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
    """(train, validation) indices into the training set, stratified and disjoint; the test set is untouched.

    Args:
        dataset: whose training set is split.
        fraction: the validation set's share, in (0, 1).
        seed: fixes the split.
    """
    return stratified_split(dataset.train_labels, fraction, seed)
