"""Data and training budget of exercise 9: scikit-learn's digits, and a limited number of training images."""

import torch
from sklearn.datasets import load_digits
from torch import Tensor

IMAGES = 40_000  # total number of training images, 28 times the training set
PARAMETERS = 30_000
TARGET = 0.95  # test accuracy
TEST = 360  # test images


def load_images() -> tuple[Tensor, Tensor]:
    """Load 1,797 digits as (N, 1, 8, 8) in [0, 1] and their classes, in a fixed random order."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    return images[order], torch.tensor(digits.target)[order]


class Budget:
    """A source of random training images with a limited budget."""

    def __init__(self, seed: int = 0) -> None:
        images, labels = load_images()
        self.images, self.labels = images[TEST:], labels[TEST:]
        self.left, self.random = IMAGES, torch.Generator().manual_seed(seed)

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Return a batch of images (size, 1, 8, 8) and labels (size,).

        Raises:
            RuntimeError: if the budget is used up.
        """
        if size > self.left:
            raise RuntimeError(f"the image budget is used up: requested {size} images, {self.left} left")
        self.left -= size
        chosen = torch.randint(len(self.labels), (size,), generator=self.random)
        return self.images[chosen], self.labels[chosen]
