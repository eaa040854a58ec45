"""Results of exercises 1 to 4 for later exercises."""

import torch
from torch import Tensor, nn


def patchify(images: Tensor, n_patches: int) -> Tensor:
    """Cut images (B, C, H, W) into patches (B, n², C·(H/n)·(W/n))."""
    batch, channels, height, width = images.shape
    rows, cols = height // n_patches, width // n_patches
    cut = images.reshape(batch, channels, n_patches, rows, n_patches, cols)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(batch, n_patches**2, channels * rows * cols)


def get_positional_embeddings(sequence_length: int, d: int) -> Tensor:
    """Compute the sinusoidal table (sequence_length, d): one frequency per pair of sine and cosine."""
    position = torch.arange(sequence_length, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


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
