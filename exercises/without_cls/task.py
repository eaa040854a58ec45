"""Exercise 8: a ViT without [CLS]."""

from given_heads import get_positional_embeddings, patchify  # noqa: F401  provided for your solution
from given_vit import ViT
from torch import Tensor


class WithoutCLS(ViT):
    """A ViT without [CLS]: the head reads the mean of LN(patch tokens); there are n_patches² positions.

    It has no attribute `class_token`.
    """

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        raise NotImplementedError

    def forward(self, images: Tensor) -> Tensor:
        """Compute logits (B, n_classes) of images (B, C, H, W)."""
        raise NotImplementedError
