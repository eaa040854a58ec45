"""Exercise 4: multi-head attention on slices of the channels."""

from torch import Tensor, nn


class MultiHead(nn.Module):
    """Multi-head attention; head h reads and writes the h-th slice of d/n_heads channels.

    `q`, `k` and `v` are each an nn.ModuleList of n_heads linear maps, d/n_heads -> d/n_heads, one per head.
    """

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, N, d) to the concatenated outputs of the heads (B, N, d)."""
        raise NotImplementedError
