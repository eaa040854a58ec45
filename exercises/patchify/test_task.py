"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, check_tensor, check_values
from task import patchify


def cut_patches(images, n, columns_first=False, channels_last=False):
    """Return the patches, computed with plain loops."""
    side_y, side_x = images.shape[2] // n, images.shape[3] // n
    patches = []
    for first in range(n):
        for second in range(n):
            row, col = (second, first) if columns_first else (first, second)
            patch = images[:, :, row * side_y : (row + 1) * side_y, col * side_x : (col + 1) * side_x]
            patches.append((patch.permute(0, 2, 3, 1) if channels_last else patch).flatten(1))
    return torch.stack(patches, dim=1)


def run(images, n):
    batch, channels, height, width = images.shape
    shape = (batch, n * n, channels * (height // n) * (width // n))
    return check_tensor(call(patchify, images, n), shape, "patchify", "(B, n², C·(H/n)·(W/n))")


def test_shapes():
    run(torch.zeros(2, 1, 28, 28), 2)
    run(torch.zeros(16, 3, 56, 56), 7)


def test_patches_are_squares():
    images = torch.arange(2 * 3 * 12 * 12.0).reshape(2, 3, 12, 12)
    columns, last = cut_patches(images, 3, columns_first=True), cut_patches(images, 3, channels_last=True)
    mistakes = {
        "reshape instead of patchify: it cuts rows of pixels, not squares": images.reshape(2, 9, -1),
        "columns before rows: patches must run row by row": columns,
        "channels last: a patch's values run C, row, column": last,
        "rows and columns swapped inside a patch: its values run C, row, column": cut_patches(
            images.mT, 3, columns_first=True
        ),
        "batch and patches mixed up: move the patch axes behind the batch axis": cut_patches(images, 3)
        .transpose(0, 1)
        .reshape(2, 9, -1),
    }
    check_values(run(images, 3), cut_patches(images, 3), mistakes, "patchify")


def test_images_that_are_not_square():
    images = torch.arange(2 * 1 * 8 * 12.0).reshape(2, 1, 8, 12)
    check_values(run(images, 4), cut_patches(images, 4), {}, "patchify for images of 8 × 12 px")
