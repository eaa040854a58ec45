"""Exercise 1: cut pictures into patches."""

from torch import Tensor


def patchify(images: Tensor, n_patches: int) -> Tensor:
    """Cuts every picture into n_patches × n_patches squares, row by row, and flattens each.

    Args:
        images: (B, C, H, W); n_patches divides H and W.
        n_patches: squares along one side.

    Returns:
        (B, n_patches², C·(H/n_patches)·(W/n_patches)); the values of a patch in the order C, row, column.
    """
    raise NotImplementedError
