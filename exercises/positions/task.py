"""Exercise 2: the sinusoidal position table."""

from torch import Tensor


def get_positional_embeddings(sequence_length: int, d: int) -> Tensor:
    """Compute PE[p, 2i] = sin(p / 10000^(2i/d)), PE[p, 2i+1] = cos(p / 10000^(2i/d)) (Vaswani et al. 2017).

    A sine and its cosine share one frequency; positions start at 0; d is even.

    Returns:
        (sequence_length, d).
    """
    raise NotImplementedError
