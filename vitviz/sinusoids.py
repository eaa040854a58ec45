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
    return rotary_angles((rows, cols), dim, base, centred=True)


def rotary_angles(
    grid: tuple[int, int],
    dim: int,
    base: float,
    *,
    centred: bool,
    columns_first: bool = False,
    offset: float = 0.0,
    reference: int = 0,
) -> FloatArray:
    """Return the angles of rotary positions as timm's models have them: (rows * cols, dim / 2), in reading order.

    Args:
        grid: (rows, cols) of patches.
        dim: values of a query; 4 divides it.
        base: of the frequencies, w_k = base^(-4k / dim).
        centred: True for patch centres in [-1, 1], times 2 pi (`rotary_2d`); False for indices 0, 1, 2, …
        columns_first: True if the pairs of the column come before those of the row.
        offset: added to every index, or to centred ones before they are divided by the side.
        reference: side of the grid to which indices are scaled; 0: none.

    Raises:
        ValueError: if 4 does not divide dim.
    """
    if dim % 4:
        raise ValueError(f"dim must be divisible by 4, received {dim}")
    omega = base ** (-np.arange(dim // 4) / (dim // 4))
    indices = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    axes = []
    for index, side in zip(indices, grid, strict=True):
        if centred:
            places = 2 * np.pi * (2 * (index + 0.5 + offset) / side - 1)
        else:
            places = (index + offset) * (reference / side if reference else 1)
        axes.append(places[:, None] * omega)
    return np.concatenate(axes[::-1] if columns_first else axes, axis=1)


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
