"""Exercise 7: trainable positions."""

from given_vit import ViT
from torch import nn  # noqa: F401  provided for your solution


def make_positions_trainable(model: ViT) -> ViT:
    """Make the model's positions trainable, starting from their current values, and return the model.

    Afterwards `model.parameters()` contains `model.positions`.
    """
    raise NotImplementedError
