"""Exercise 4: multi-head attention on slices of d."""

from torch import Tensor, nn


class MultiHead(nn.Module):
    """n_heads heads side by side; head h reads and writes the h-th slice of the d channels, d/n_heads wide.

    `q`, `k` and `v` are each an nn.ModuleList of n_heads linear maps, d/n_heads -> d/n_heads: every head its own.
    """

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, d) -> (B, N, d): the heads' results, one after the other."""
        raise NotImplementedError
