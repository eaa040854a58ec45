"""Evaluate a model on images with shuffled patches, to see whether it relies on positions."""

from dataclasses import dataclass

import torch

from vitviz.analysis.mistakes import confusion_counts
from vitviz.config import ModelConfig
from vitviz.training.batches import PreparedImages, TrainingData
from vitviz.training.loop import QUICK_VALIDATION, Trainer
from vitviz.training.records import Evaluation, Snapshot

SEED = 0  # fixed, so that all models and runs see the same orders


@dataclass(frozen=True)
class Shuffled:
    """Accuracy on the same images before and after shuffling their patches, with the same weights."""

    split: str  # validation while training, test at the end
    step: int
    epoch: float
    accuracy: float
    shuffled: float
    images: int
    confusion: list[list[int]]  # [true][predicted] of the whole images


def patch_px(config: ModelConfig) -> int | None:
    """Return the side of a model's patches; None if it has none."""
    return getattr(config, "patch_size", None)


def shuffle_patches(images: PreparedImages, side_px: int) -> PreparedImages:
    """Return every image with its own random order of patches; the pixels inside a patch stay where they are.

    Args:
        images: (N, C, S, S).
        side_px: side of a patch; it divides S.

    Raises:
        ValueError: if the patches do not fit.
    """
    count, channels, height, width = images.images.shape
    rows, cols = height // side_px, width // side_px
    if (rows * side_px, cols * side_px) != (height, width):
        raise ValueError(f"patches of {side_px} px do not fit images of {height} x {width} px")
    cut = images.images.reshape(count, channels, rows, side_px, cols, side_px).permute(0, 2, 4, 1, 3, 5)
    cut = cut.reshape(count, rows * cols, channels, side_px, side_px)
    generator = torch.Generator().manual_seed(SEED)
    order = torch.rand(count, rows * cols, generator=generator).argsort(dim=1)
    mixed = cut[torch.arange(count)[:, None], order].view(count, rows, cols, channels, side_px, side_px)
    return PreparedImages(mixed.permute(0, 3, 1, 4, 2, 5).reshape(images.images.shape), images.labels)


class ShuffleTest:
    """The held-out images of a run with shuffled patches, shared by all models."""

    def __init__(self, splits: TrainingData, side_px: int) -> None:
        self._validation = PreparedImages(
            splits.validation.images[:QUICK_VALIDATION], splits.validation.labels[:QUICK_VALIDATION]
        )
        self._mixed = shuffle_patches(self._validation, side_px)
        self._mixed_test = shuffle_patches(splits.test, side_px)

    def at_snapshot(self, trainer: Trainer, snapshot: Snapshot) -> Shuffled:
        """Evaluate the validation images in the training precision."""
        whole, mixed = self._validation, self._mixed
        guesses, shuffled_guesses = (trainer.logits(part).argmax(dim=1) for part in (whole, mixed))
        classes = len(trainer.splits.classes)
        return Shuffled(
            split="validation",
            step=snapshot.step,
            epoch=snapshot.epoch,
            accuracy=(guesses == whole.labels).double().mean().item(),
            shuffled=(shuffled_guesses == mixed.labels).double().mean().item(),
            images=len(whole),
            confusion=confusion_counts(whole.labels.numpy(), guesses.numpy(), classes).tolist(),
        )

    def at_end(self, trainer: Trainer, test: Evaluation) -> Shuffled:
        """Evaluate the test images in fp32."""
        shuffled_guesses = trainer.logits(self._mixed_test, exact=True).argmax(dim=1)
        return Shuffled(
            split="test",
            step=test.step,
            epoch=test.epoch,
            accuracy=test.accuracy,
            shuffled=(shuffled_guesses == self._mixed_test.labels).double().mean().item(),
            images=test.images,
            confusion=[*test.confusion],
        )
