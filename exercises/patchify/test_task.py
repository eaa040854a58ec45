"""Run `pytest` in this folder: it says which slip was made."""

import torch
from task import patchify


def cut(images, n, columns_first=False, channels_last=False):
    """The same by loops: slow, and plain to see."""
    side_y, side_x = images.shape[2] // n, images.shape[3] // n
    patches = []
    for first in range(n):
        for second in range(n):
            row, col = (second, first) if columns_first else (first, second)
            patch = images[:, :, row * side_y : (row + 1) * side_y, col * side_x : (col + 1) * side_x]
            patches.append((patch.permute(0, 2, 3, 1) if channels_last else patch).flatten(1))
    return torch.stack(patches, dim=1)


def verdict(got, images, n):
    slips = {
        "reshape for patchify: it cuts rows of pixels, not squares": images.reshape(len(images), n * n, -1),
        "columns before rows: patches must run row by row": cut(images, n, columns_first=True),
        "channels last: a patch's values run C, row, column": cut(images, n, channels_last=True),
    }
    named = [name for name, value in slips.items() if got.shape == value.shape and torch.equal(got, value)]
    return named[0] if named else "wrong, by no slip known here"


def test_shapes():
    for size, n, wanted in (((2, 1, 28, 28), 2, (2, 4, 196)), ((16, 3, 56, 56), 7, (16, 49, 192))):
        got = tuple(patchify(torch.zeros(size), n).shape)
        assert got == wanted, f"{size} with {n} must become {wanted}, received {got}"


def test_the_values_are_those_of_squares():
    images = torch.arange(2 * 3 * 12 * 12.0).reshape(2, 3, 12, 12)
    got = patchify(images, 3)
    assert torch.equal(got, cut(images, 3)), verdict(got, images, 3)
