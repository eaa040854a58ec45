"""Exercise 4: multi-head attention on slices of d. A solution."""

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    """Attention with n_heads heads, each with its own linear maps on its own slice of the channels."""

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        self.width = d // n_heads
        self.q, self.k, self.v = (
            nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(n_heads)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, N, d) to (B, N, d)."""
        slices = x.split(self.width, dim=-1)
        return torch.cat([self.head(h, part) for h, part in enumerate(slices)], dim=-1)

    def head(self, h: int, part: Tensor) -> Tensor:
        """Compute one head on its slice (B, N, d/n_heads)."""
        q, k, v = self.q[h](part), self.k[h](part), self.v[h](part)
        return (q @ k.mT / self.width**0.5).softmax(dim=-1) @ v
