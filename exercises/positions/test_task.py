"""Run `pytest` in this folder: a failing test names the mistake."""

import math

import torch
from task import get_positional_embeddings
from torch.nn.functional import cosine_similarity


def build_table(length, d, exponent, first=math.sin, second=math.cos, start=0):
    """Return the table, computed with plain loops; `exponent(k)` belongs to column k."""
    rows = [
        [(first if k % 2 == 0 else second)((p + start) / 10000 ** exponent(k)) for k in range(d)]
        for p in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def name_mistake(output, length, d):
    def correct(k):
        return (k - k % 2) / d

    mistakes = {
        "exponent k/D for every k: a sine and its cosine must share 2i/D": build_table(
            length, d, lambda k: k / d
        ),
        "sine and cosine swapped: even columns are sines": build_table(
            length, d, correct, math.cos, math.sin
        ),
        "positions from 1: they start at 0": build_table(length, d, correct, start=1),
        "exponent i/D: it is 2i/D": build_table(length, d, lambda k: k // 2 / d),
    }
    for name, value in mistakes.items():
        if output.shape == value.shape and torch.allclose(output.double(), value, atol=1e-4):
            return name
    return "wrong result, unknown mistake"


def test_shape():
    assert tuple(get_positional_embeddings(50, 8).shape) == (50, 8)


def test_known_values():
    expected = torch.tensor([[0, 1, 0, 1], [0.841, 0.540, 0.638, 0.770], [0.909, -0.416, 0.983, 0.186]])
    output = get_positional_embeddings(50, 50)
    assert torch.allclose(output[:3, :4].float(), expected, atol=2e-3), name_mistake(output, 50, 50)


def test_similarity_depends_on_the_distance_alone():
    output = get_positional_embeddings(16, 64).double()
    near = [float(cosine_similarity(output[p], output[p + 1], dim=0)) for p in (5, 6, 7)]
    assert all(abs(value - 0.9662) < 2e-4 for value in near), (
        f"{name_mistake(output, 16, 64)}; neighbours: {near}"
    )
