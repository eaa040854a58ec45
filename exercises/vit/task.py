"""Exercise 6: the whole Vision Transformer."""

import torch  # noqa: F401  provided for your solution
from given_block import Block  # noqa: F401  provided for your solution
from given_heads import get_positional_embeddings, patchify  # noqa: F401  provided for your solution
from torch import Tensor, nn


class ViT(nn.Module):
    """A ViT: z0 = [x_class; x1 E; …; xN E] + E_pos, blocks, y = LN(z_L⁰), logits (ViT paper, eq. 1 to 4).

    Attributes: `embed` (E), `class_token` (a parameter), `positions` (a sinusoidal buffer, one row for [CLS] too),
    `blocks` (an nn.ModuleList), `norm` and `head`. The results of exercises 1 to 5 are provided.
    """

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
        raise NotImplementedError

    def forward(self, images: Tensor) -> Tensor:
        """Compute logits (B, n_classes) of images (B, C, H, W), without softmax."""
        raise NotImplementedError
