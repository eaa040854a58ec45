"""Result of exercise 6 for later exercises."""

import torch
from given_block import Block
from given_heads import get_positional_embeddings, patchify
from torch import Tensor, nn


class ViT(nn.Module):
    """A ViT: z0 = [x_class; x1 E; …; xN E] + E_pos, blocks, y = LN(z_L⁰), logits (ViT paper, eq. 1 to 4)."""

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
        """Compute logits (B, n_classes) of images (B, C, H, W)."""
        z = self.embed(patchify(images, self.n_patches))
        z = torch.cat([self.class_token.expand(len(z), -1, -1), z], dim=1) + self.positions
        for block in self.blocks:
            z = block(z)
        return self.head(self.norm(z[:, 0]))
