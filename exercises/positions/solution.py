"""Exercise 2: the sinusoidal position table. A solution."""

import torch
from torch import Tensor


def get_positional_embeddings(sequence_length: int, d: int) -> Tensor:
    """Compute the sinusoidal table (sequence_length, d): one frequency per pair of sine and cosine."""
    position = torch.arange(sequence_length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
