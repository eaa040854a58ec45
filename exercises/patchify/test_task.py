"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
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


def name_mistake(output, images, n):
    mistakes = {
        "reshape for patchify: it cuts rows of pixels, not squares": images.reshape(len(images), n * n, -1),
        "columns before rows: patches must run row by row": cut_patches(images, n, columns_first=True),
        "channels last: a patch's values run C, row, column": cut_patches(images, n, channels_last=True),
    }
    named = [
        name for name, value in mistakes.items() if output.shape == value.shape and torch.equal(output, value)
    ]
    return named[0] if named else "wrong result, unknown mistake"


def test_shapes():
    for size, n, expected in (((2, 1, 28, 28), 2, (2, 4, 196)), ((16, 3, 56, 56), 7, (16, 49, 192))):
        output = tuple(patchify(torch.zeros(size), n).shape)
        assert output == expected, f"expected {expected} for {size} with n_patches={n}, received {output}"


def test_patches_are_squares():
    images = torch.arange(2 * 3 * 12 * 12.0).reshape(2, 3, 12, 12)
    output = patchify(images, 3)
    assert torch.equal(output, cut_patches(images, 3)), name_mistake(output, images, 3)
