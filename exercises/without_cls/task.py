"""Exercise 8: [CLS] removed."""

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


class ViT(nn.Module):
    """z0 = [x_class; x1 E; …; xN E] + E_pos, the blocks, y = LN(z_L⁰), logits (ViT paper, eq. 1 to 4)."""

    def __init__(
        self,
        chw: tuple[int, int, int],
        n_patches: int = 7,
        n_blocks: int = 2,
        d: int = 8,
        n_heads: int = 2,
        n_classes: int = 10,
    ) -> None:
        super().__init__()
        channels, height, width = chw
        self.n_patches = n_patches
        self.embed = nn.Linear(channels * (height // n_patches) * (width // n_patches), d)
        self.class_token = nn.Parameter(torch.randn(1, 1, d) * 0.02)
        self.register_buffer("positions", get_positional_embeddings(n_patches**2 + 1, d))
        self.blocks = nn.ModuleList(Block(d, n_heads) for _ in range(n_blocks))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> logits (B, n_classes)."""
        z = self.embed(patchify(images, self.n_patches))
        z = torch.cat([self.class_token.expand(len(z), -1, -1), z], dim=1) + self.positions
        for block in self.blocks:
            z = block(z)
        return self.head(self.norm(z[:, 0]))


class WithoutCLS(ViT):
    """A ViT without [CLS]: the head reads LN of every patch, averaged; there are n_patches² positions.

    It has no `class_token`.
    """

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        raise NotImplementedError

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> logits (B, n_classes)."""
        raise NotImplementedError
