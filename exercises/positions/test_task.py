"""Run `pytest` in this folder: it says which slip was made."""

import math

import torch
from task import get_positional_embeddings
from torch.nn.functional import cosine_similarity


def table(length, d, exponent, first=math.sin, second=math.cos, start=0):
    """The same by loops; `exponent(k)` of the column k."""
    rows = [
        [(first if k % 2 == 0 else second)((p + start) / 10000 ** exponent(k)) for k in range(d)]
        for p in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def verdict(got, length, d):
    def right(k):
        return (k - k % 2) / d

    slips = {
        "exponent k/D for every k: a sine and its cosine must share 2i/D": table(length, d, lambda k: k / d),
        "sine and cosine swapped: even columns are sines": table(length, d, right, math.cos, math.sin),
        "positions from 1: they count from 0": table(length, d, right, start=1),
        "exponent i/D: it is 2i/D": table(length, d, lambda k: k // 2 / d),
    }
    for name, value in slips.items():
        if got.shape == value.shape and torch.allclose(got.double(), value, atol=1e-4):
            return name
    return "wrong, by no slip known here"


def test_shape():
    assert tuple(get_positional_embeddings(50, 8).shape) == (50, 8)


def test_known_values():
    wanted = torch.tensor([[0, 1, 0, 1], [0.841, 0.540, 0.638, 0.770], [0.909, -0.416, 0.983, 0.186]])
    got = get_positional_embeddings(50, 50)
    assert torch.allclose(got[:3, :4].float(), wanted, atol=2e-3), verdict(got, 50, 50)


def test_similarity_depends_on_the_distance_alone():
    got = get_positional_embeddings(16, 64).double()
    near = [float(cosine_similarity(got[p], got[p + 1], dim=0)) for p in (5, 6, 7)]
    assert all(abs(value - 0.9662) < 2e-4 for value in near), f"{verdict(got, 16, 64)}; neighbours: {near}"
