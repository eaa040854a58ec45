"""Sinusoidal tables against the numbers that are known for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz import sinusoids
from vitviz.config import ViTConfig
from vitviz.models import layers
from vitviz.models.rotary_positions import RotaryPositions
from vitviz.sinusoids import sincos_1d, sincos_2d_concat, sincos_2d_sum


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# Recomputed independently of this project for D = 64: the similarity depends on the distance alone.
@pytest.mark.parametrize(
    ("i", "j", "expected"), [(5, 6, 0.9662), (5, 7, 0.8845), (5, 8, 0.7996), (6, 7, 0.9662), (7, 8, 0.9662)]
)
def test_similarities_of_a_lecture(i: int, j: int, expected: float) -> None:
    table = sincos_1d(10, 64)
    assert cosine(table[i], table[j]) == pytest.approx(expected, abs=5e-5)


def test_first_values_of_a_lecture() -> None:
    # D = 50, rows i0..i3, columns p0..p3; the lecture prints three decimals, cut or rounded.
    expected = [
        [0, 0.841, 0.909, 0.141],
        [1, 0.540, -0.416, -0.990],
        [0, 0.638, 0.983, 0.875],
        [1, 0.770, 0.186, -0.484],
    ]
    np.testing.assert_allclose(sincos_1d(4, 50)[:, :4].T, expected, atol=1e-3)


@pytest.mark.parametrize(("rows", "cols", "dim"), [(4, 4, 64), (7, 5, 32), (14, 14, 8)])
def test_concatenated_table_has_its_closed_form(rows: int, cols: int, dim: int) -> None:
    table = sincos_2d_concat(rows, cols, dim)
    np.testing.assert_allclose((table**2).sum(1), dim / 2)
    omega = 10000.0 ** (-np.arange(dim // 4) / (dim // 4 - 1))
    y, x = np.divmod(np.arange(rows * cols), cols)
    dx, dy = x[:, None] - x, y[:, None] - y
    expected = 2 / dim * (np.cos(omega * dx[..., None]) + np.cos(omega * dy[..., None])).sum(-1)
    np.testing.assert_allclose(table @ table.T / (dim / 2), expected, atol=1e-12)


def test_summed_table_confuses_row_and_column() -> None:
    table = sincos_2d_sum(5, 5, 16).reshape(5, 5, 16)
    np.testing.assert_array_equal(table, table.transpose(1, 0, 2))


def test_bad_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="even, received 7"):
        sincos_1d(3, 7)
    with pytest.raises(ValueError, match="divisible by 4, received 6"):
        sincos_2d_concat(3, 3, 6)


@pytest.mark.parametrize(
    ("grid", "dim", "base"), [((4, 4), 16, 100.0), ((3, 5), 8, 1000.0), ((1, 2), 28, 10.0)]
)
def test_rotary_positions_are_a_product_of_complex_numbers(
    grid: tuple[int, int], dim: int, base: float
) -> None:
    """(q R_i) . (k R_j) = Re sum q conj(k) exp(i w (p_i - p_j)): it depends on the offset alone (Su et al. 2021)."""
    rows, cols = grid
    rng, half, quarter = np.random.default_rng(0), dim // 2, dim // 4
    q, k = rng.standard_normal((2, dim))
    config = ViTConfig(embed_dim=dim, num_heads=1, positions="rotary", rope_theta=base)
    turn = RotaryPositions(config)(grid, torch.device("cpu"))[0]
    tiled = [torch.from_numpy(np.tile(v, (rows * cols, 1))[None, None]).float() for v in (q, k)]
    scores = layers.rotate(tiled[0], turn)[0, 0] @ layers.rotate(tiled[1], turn)[0, 0].T
    pairs = (q[:half] + 1j * q[half:]) * np.conj(k[:half] + 1j * k[half:])
    for i in range(rows * cols):
        for j in range(rows * cols):
            down, right = (i // cols - j // cols) / rows, (i % cols - j % cols) / cols
            angle = [
                4 * np.pi * (down, right)[n // quarter] * base ** (-4 * (n % quarter) / dim)
                for n in range(half)
            ]
            assert float(scores[i, j]) == pytest.approx(
                (pairs * np.exp(1j * np.array(angle))).sum().real, abs=1e-4
            )


def test_rotary_positions_refuse_a_width_that_four_does_not_divide() -> None:
    with pytest.raises(ValueError, match="divisible by 4, received 6"):
        sinusoids.rotary_2d(2, 2, 6)
