"""Exercise 1: cut images into patches."""

from torch import Tensor


def patchify(images: Tensor, n_patches: int) -> Tensor:
    """Cut every image into n_patches × n_patches squares, row by row, and flatten each.

    Args:
        images: (B, C, H, W); n_patches divides H and W.
        n_patches: patches along one side.

    Returns:
        (B, n_patches², C·(H/n_patches)·(W/n_patches)); the values of a patch in the order C, row, column.
    """
    raise NotImplementedError
