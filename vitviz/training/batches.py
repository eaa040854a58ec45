"""Prepare a run's images once as bytes and normalise them batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vitviz.config import Preparation, TrainConfig
from vitviz.data.dataset import Dataset, validation_split
from vitviz.data.image_preprocessing import prepare_batch

SPLIT_SEED = 0  # not the run's seed: runs that differ in their seed are compared on the same images
_CHUNK = 2048  # images prepared at a time, so that no float copy of a whole set is ever held


@dataclass(frozen=True)
class PreparedImages:
    """Prepared (N, C, S, S) uint8 images and their (N,) labels."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> PreparedImages:
        """Return the same images on another device."""
        return PreparedImages(self.images.to(device), self.labels.to(device))


@dataclass(frozen=True)
class TrainingData:
    """The three disjoint parts of a dataset that a run reads; the test part only once, at the end."""

    train: PreparedImages
    validation: PreparedImages
    test: PreparedImages
    preparation: Preparation
    classes: tuple[str, ...]


def prepare_training_data(dataset: Dataset, preparation: Preparation, config: TrainConfig) -> TrainingData:
    """Split and prepare a dataset as a run's config says.

    Raises:
        DatasetError: if the set is only looked at: without labels, or without training images.
        ValueError: if the batch is larger than what is left for training.
    """
    indices, held_out = validation_split(dataset, config.validation_fraction, SPLIT_SEED)
    labels = dataset.labels_of("train")
    indices = (
        indices[: max(1, round(len(indices) * config.train_fraction))]
        if config.a_class is None
        else select_first_of_each(indices, labels, config.a_class)
    )
    if config.batch_size > len(indices):
        raise ValueError(f"batch_size {config.batch_size} is larger than the {len(indices)} training images")
    return TrainingData(
        prepare_images(dataset.train_images, labels, indices, preparation),
        prepare_images(dataset.train_images, labels, held_out, preparation),
        prepare_test_images(dataset, preparation),
        preparation,
        tuple(dataset.classes),
    )


def select_first_of_each(chosen: np.ndarray, labels: np.ndarray, most: int) -> np.ndarray:
    """Return the first `most` indices of each class among the chosen ones, in order.

    The first of a split are no fair draw: validation holds as many of each class, so a shuffled set's first images
    are held out, and those of a class that has given its share early come to lie in front. Of MNIST's first 200 none
    was a 2 and 45 were a 5.
    """
    parts = [np.flatnonzero(labels[chosen] == label)[:most] for label in np.unique(labels[chosen])]
    return chosen[np.sort(np.concatenate(parts))]


def prepare_test_images(dataset: Dataset, preparation: Preparation) -> PreparedImages:
    """Return a dataset's prepared test images.

    Raises:
        DatasetError: if the set has no labels.
    """
    return prepare_images(dataset.test_images, dataset.labels_of("test"), slice(None), preparation)


def prepare_images(
    images: np.ndarray, labels: np.ndarray, chosen: np.ndarray | slice, preparation: Preparation
) -> PreparedImages:
    """Return the chosen images (N, H, W, C) of an array, prepared for the model."""
    images = images[chosen]
    size, channels = preparation.image_size, preparation.in_chans
    if images.shape[1:] == (size, size, channels) and (preparation.crop_fraction == 1.0 or preparation.digit):
        prepared = torch.from_numpy(
            np.array(images.transpose(0, 3, 1, 2), order="C")
        )  # a copy: it is read-only
    else:
        chunks = [images[start : start + _CHUNK] for start in range(0, len(images), _CHUNK)]
        prepared = torch.cat([_as_bytes(chunk, preparation) for chunk in chunks])
    return PreparedImages(prepared, torch.from_numpy(np.array(labels[chosen], dtype=np.int64)))


def _as_bytes(images: np.ndarray, preparation: Preparation) -> Tensor:
    inputs = torch.from_numpy(prepare_batch(images, preparation))
    mean, std = (torch.tensor(values)[:, None, None] for values in (preparation.mean, preparation.std))
    return ((inputs * std + mean) * preparation.pixel_range).round_().clamp_(0, 255).to(torch.uint8)


def make_normaliser(
    preparation: Preparation, dtype: torch.dtype, device: torch.device
) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """Return (uint8 images -> model input) and the uint8 colour (C,) that it maps to about zero."""
    mean = torch.tensor(preparation.mean).to(device)[:, None, None]
    std = torch.tensor(preparation.std).to(device)[:, None, None]
    gain, offset = 1 / (preparation.pixel_range * std), -mean / std

    def normalise(images: Tensor) -> Tensor:
        return images.to(torch.float32).mul_(gain).add_(offset).to(dtype)

    return normalise, (mean.flatten() * 255).round().to(torch.uint8)
