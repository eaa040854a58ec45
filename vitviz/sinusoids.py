"""Sinusoidal position tables as arrays: one source for the models and for the lens."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def sincos_1d(length: int, dim: int, base: float = 10000.0) -> FloatArray:
    """PE[p, 2i] = sin(p / base^(2i/D)), PE[p, 2i+1] = cos(p / base^(2i/D)) (Vaswani et al. 2017).

    Returns:
        (length, dim).

    Raises:
        ValueError: if dim is odd.
    """
    if dim % 2:
        raise ValueError(f"dim must be even, received {dim}")
    angle = np.arange(length)[:, None] / base ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, dim)


def sincos_2d_sum(rows: int, cols: int, dim: int, base: float = 10000.0) -> FloatArray:
    """PE[r, c] = PE1(r) + PE1(c), both of width D: it cannot tell (r, c) from (c, r).

    Returns:
        (rows * cols, dim), in reading order.
    """
    row, col = sincos_1d(rows, dim, base), sincos_1d(cols, dim, base)
    return (row[:, None] + col[None, :]).reshape(rows * cols, dim)


def sincos_2d_concat(rows: int, cols: int, dim: int, base: float = 10000.0) -> FloatArray:
    """concat[sin x w, cos x w, sin y w, cos y w] with w_k = base^(-k / (D/4 - 1)) (big_vision, SimpleViT).

    x counts columns and y rows, so ||p||^2 = D/2 for every position.

    Returns:
        (rows * cols, dim), in reading order.

    Raises:
        ValueError: if dim is below 8 or 4 does not divide it.
    """
    if dim % 4 or dim < 8:
        raise ValueError(f"dim must be at least 8 and divisible by 4, received {dim}")
    omega = base ** (-np.arange(dim // 4) / (dim // 4 - 1))
    y, x = np.divmod(np.arange(rows * cols), cols)
    xw, yw = x[:, None] * omega, y[:, None] * omega
    return np.concatenate([np.sin(xw), np.cos(xw), np.sin(yw), np.cos(yw)], axis=1)


def rotary_2d(rows: int, cols: int, dim: int, base: float = 100.0) -> FloatArray:
    """Return the angles by which axial rotary positions turn the pairs of a query or key (Siméoni et al. 2025).

    Patch centres lie in [-1, 1] along both axes; dim / 4 pairs per axis turn by 2 pi w_k times the centre, with
    w_k = base^(-4k / dim). Pair k holds the values k and k + dim / 2.

    Returns:
        (rows * cols, dim / 2), in reading order; the pairs of the row come before those of the column.

    Raises:
        ValueError: if 4 does not divide dim.
    """
    if dim % 4:
        raise ValueError(f"dim must be divisible by 4, received {dim}")
    omega = 2 * np.pi * base ** (-np.arange(dim // 4) / (dim // 4))
    y, x = np.divmod(np.arange(rows * cols), cols)
    centres = (2 * (y + 0.5) / rows - 1, 2 * (x + 0.5) / cols - 1)
    return np.concatenate([centre[:, None] * omega for centre in centres], axis=1)


def sincos_1d_slip(length: int, dim: int, base: float = 10000.0) -> FloatArray:
    """Return the common bug: exponent k/D for every column k, so a sine and its cosine no longer share a frequency.

    PE[p, k] = sin(p / base^(k/D)) for even k, cos(p / base^(k/D)) for odd k.

    Returns:
        (length, dim).

    Raises:
        ValueError: if dim is odd.
    """
    if dim % 2:
        raise ValueError(f"dim must be even, received {dim}")
    angle = np.arange(length)[:, None] / base ** (np.arange(dim) / dim)
    return np.where(np.arange(dim) % 2 == 0, np.sin(angle), np.cos(angle))
