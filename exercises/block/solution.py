"""Exercise 5: the block. A solution."""

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    """n_heads heads side by side, each on its own slice with maps of its own."""

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        self.width = d // n_heads
        self.q, self.k, self.v = (
            nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(n_heads)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, d) -> (B, N, d)."""
        slices = x.split(self.width, dim=-1)
        return torch.cat([self.head(h, part) for h, part in enumerate(slices)], dim=-1)

    def head(self, h: int, part: Tensor) -> Tensor:
        """One head on its slice (B, N, d/n_heads)."""
        q, k, v = self.q[h](part), self.k[h](part), self.v[h](part)
        return (q @ k.mT / self.width**0.5).softmax(dim=-1) @ v


class Block(nn.Module):
    """z' = z + MSA(LN(z)), then z' + MLP(LN(z'))."""

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = MultiHead(d, n_heads)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, z: Tensor) -> Tensor:
        """(B, N, d) -> (B, N, d)."""
        z = z + self.attn(self.norm1(z))
        return z + self.mlp(self.norm2(z))
