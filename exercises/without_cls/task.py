"""Exercise 8: [CLS] removed."""

from given_heads import get_positional_embeddings, patchify  # noqa: F401  given, for you to use
from given_vit import ViT
from torch import Tensor


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
