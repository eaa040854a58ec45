"""The data of exercise 9 and what may be spent on it: scikit-learn's digits, and a number of pictures."""

import torch
from sklearn.datasets import load_digits
from torch import Tensor

PICTURES = 40_000  # that may be asked for in all: 28 times the training set
PARAMETERS = 30_000
WANTED = 0.95  # of the test pictures right; the model of exercise 6, trained plainly, stays far below
TEST = 360


def pictures() -> tuple[Tensor, Tensor]:
    """(1,797 digits of 8 × 8 px as (N, 1, 8, 8) in [0, 1], their classes), in an order of its own."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    return images[order], torch.tensor(digits.target)[order]


class Budget:
    """Random training pictures, until the budget is spent."""

    def __init__(self, seed: int = 0) -> None:
        images, labels = pictures()
        self.images, self.labels = images[TEST:], labels[TEST:]
        self.left, self.random = PICTURES, torch.Generator().manual_seed(seed)

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """(size, 1, 8, 8) and (size,).

        Raises:
            RuntimeError: if the budget is spent.
        """
        if size > self.left:
            raise RuntimeError(f"the budget is spent: {size} pictures asked for, {self.left} left")
        self.left -= size
        chosen = torch.randint(len(self.labels), (size,), generator=self.random)
        return self.images[chosen], self.labels[chosen]
