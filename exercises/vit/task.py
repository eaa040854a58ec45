"""Exercise 6: the whole Vision Transformer."""

import torch  # noqa: F401  given, for you to use
from given_block import Block  # noqa: F401  given, for you to use
from given_heads import get_positional_embeddings, patchify  # noqa: F401  given, for you to use
from torch import Tensor, nn


class ViT(nn.Module):
    """z0 = [x_class; x1 E; …; xN E] + E_pos, the blocks, y = LN(z_L⁰), logits (ViT paper, eq. 1 to 4).

    It has `embed` (E), `class_token` (a parameter), `positions` (a buffer, sinusoidal, [CLS] has one too), `blocks`
    (an nn.ModuleList), `norm` and `head`. The block and what stands before it are given.
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
        """(B, C, H, W) -> logits (B, n_classes): numbers of any size, no softmax."""
        raise NotImplementedError
