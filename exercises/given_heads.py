"""What exercises 1 to 4 ask for, given to those after them."""

import torch
from torch import Tensor, nn


def patchify(images: Tensor, n_patches: int) -> Tensor:
    """(B, C, H, W) -> (B, n², C·(H/n)·(W/n)): split both sides, bring the two grid axes together, flatten."""
    batch, channels, height, width = images.shape
    rows, cols = height // n_patches, width // n_patches
    cut = images.reshape(batch, channels, n_patches, rows, n_patches, cols)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(batch, n_patches**2, channels * rows * cols)


def get_positional_embeddings(sequence_length: int, d: int) -> Tensor:
    """(sequence_length, d): pairs of a sine and a cosine, one frequency a pair."""
    position = torch.arange(sequence_length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


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
