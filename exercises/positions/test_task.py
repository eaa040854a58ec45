"""Run `pytest` in this folder: a failing test names the mistake."""

import math

import torch
from explain import call, check_tensor, check_values, expect
from task import get_positional_embeddings
from torch.nn.functional import cosine_similarity


def build_table(length, d, exponent, first=math.sin, second=math.cos, start=0):
    """Return the table, computed with plain loops; `exponent(k)` belongs to column k."""
    rows = [
        [(first if k % 2 == 0 else second)((p + start) / 10000 ** exponent(k)) for k in range(d)]
        for p in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def run(length, d):
    return check_tensor(
        call(get_positional_embeddings, length, d),
        (length, d),
        "get_positional_embeddings",
        "(sequence_length, d)",
    )


def check(length, d):
    def correct(k):
        return (k - k % 2) / d

    table = build_table(length, d, correct)
    halves = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    mistakes = {
        "exponent k/D for every k: a sine and its cosine must share 2i/D": build_table(
            length, d, lambda k: k / d
        ),
        "sine and cosine swapped: even columns are sines": build_table(
            length, d, correct, math.cos, math.sin
        ),
        "positions from 1: they start at 0": build_table(length, d, correct, start=1),
        "exponent i/D: it is 2i/D": build_table(length, d, lambda k: k // 2 / d),
        "all sines, then all cosines: sine and cosine alternate": halves,
        "sines only: odd columns are cosines": build_table(length, d, correct, math.sin, math.sin),
        "multiplied by 10000^(2i/d): divide by it": build_table(length, d, lambda k: -correct(k)),
    }
    check_values(run(length, d), table, mistakes, "get_positional_embeddings", atol=1e-4)


def test_shape():
    run(50, 8)


def test_known_values():
    check(50, 50)
    expected = torch.tensor([[0, 1, 0, 1], [0.841, 0.540, 0.638, 0.770], [0.909, -0.416, 0.983, 0.186]])
    check_values(run(50, 50)[:3, :4], expected, {}, "the lecture's table", atol=2e-3)


def test_similarity_depends_on_the_distance_alone():
    check(16, 64)
    table = run(16, 64).double()
    near = [float(cosine_similarity(table[p], table[p + 1], dim=0)) for p in (5, 6, 7)]
    expect(
        all(abs(value - 0.9662) < 2e-4 for value in near),
        f"neighbours have similarities {near}, expected 0.9662",
    )
