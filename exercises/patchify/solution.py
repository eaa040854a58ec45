"""Exercise 1: cut images into patches. A solution."""

from torch import Tensor


def patchify(images: Tensor, n_patches: int) -> Tensor:
    """Cut images (B, C, H, W) into patches (B, n², C·(H/n)·(W/n))."""
    batch, channels, height, width = images.shape
    rows, cols = height // n_patches, width // n_patches
    cut = images.reshape(batch, channels, n_patches, rows, n_patches, cols)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(batch, n_patches**2, channels * rows * cols)
