"""Exercise 3: one attention head."""

from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention: A = softmax(q kᵀ / √d) over the keys, and A v.

    Args:
        q, k, v: (B, N, d).

    Returns:
        (A v, A): (B, N, d) and (B, N, N); every row of A sums to 1.
    """
    raise NotImplementedError
