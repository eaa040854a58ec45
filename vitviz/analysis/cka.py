"""Compute linear centred kernel alignment, the similarity of two representations of the same images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import LEAST_IMAGES, Verdict, compare_family, judge_difference

FloatArray = NDArray[np.floating[Any]]
Gram = NDArray[np.float64]
FEWEST = 4  # images: the debiased estimate divides by n - 3
GROUPS = 10  # of images, of which the jackknife leaves out one at a time


def gram(features: FloatArray) -> Gram:
    """Return K = X Xᵀ, the products of every image's features with every other's.

    Args:
        features: (n, ...), one row an image; what a row holds is flattened.

    Returns:
        (n, n).
    """
    rows = features.reshape(len(features), -1).astype(np.float64)
    rows -= rows.mean(axis=0)  # alignment ignores the mean; without it the products lose fewer digits
    return np.asarray(rows @ rows.T)


def centre_gram(kernel: Gram) -> Gram:
    """Return H K H with H = I - 1 1ᵀ / n, the kernel of centred features."""
    rows = kernel.mean(axis=0, keepdims=True)
    return np.asarray(kernel - rows - rows.T + kernel.mean())


def centre_gram_unbiased(kernel: Gram) -> Gram:
    """Return the centred kernel of unbiased HSIC (Song et al. 2012, Székely and Rizzo 2014).

        U_ij = K_ij - sum_k K_ik / (n - 2) - sum_k K_kj / (n - 2) + sum_kl K_kl / ((n - 1)(n - 2)),   U_ii = 0

    where K_ii counts as 0.
    """
    n = len(kernel)
    free = kernel - np.diag(np.diag(kernel))
    rows = free.sum(axis=0, keepdims=True) / (n - 2)
    out: Gram = free - rows - rows.T + free.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(out, 0.0)
    return out


def cka(first: Sequence[Gram], second: Sequence[Gram], *, debiased: bool = False) -> NDArray[np.float64]:
    """Return linear CKA between all layers of two models (Kornblith et al. 2019, eq. 2).

        CKA(K, L) = <K', L'> / (|K'| |L'|),   K' = H K H

    1 for representations that differ by a rotation and a scale, 0 for those that have nothing in common. With few
    images the plain form reads too high; `debiased` takes the unbiased estimates of all three products (Nguyen,
    Raghu and Kornblith 2021) and can fall a little below 0.

    Args:
        first, second: Gram matrices (n, n) over the same n images, of `gram`.

    Returns:
        (layers of first, layers of second); 0 where a layer says the same of every image.
    """
    form = centre_gram_unbiased if debiased else centre_gram
    rows, columns = (_directions([form(kernel) for kernel in side]) for side in (first, second))
    return np.asarray(rows @ columns.T)


def compare_layers(kernel: Gram, others: Sequence[Gram], *, debiased: bool = False) -> list[Verdict]:
    """Return the verdicts on how much less similar each of the other layers is to one than the most similar, in 0.01.

    The variance over images is the jackknife's, over `GROUPS` groups of them; the comparisons are one family.
    """
    whole, images = cka([kernel], others, debiased=debiased)[0], len(kernel)
    best, left_out = int(whole.argmax()), []
    for group in range(GROUPS if images >= LEAST_IMAGES else 0):
        kept = np.flatnonzero(np.arange(images) % GROUPS != group)
        first, *rest = (matrix[np.ix_(kept, kept)] for matrix in (kernel, *others))
        left_out.append(cka([first], rest, debiased=debiased)[0])
    gaps = 100 * np.array([row - row[best] for row in left_out] or [np.zeros(len(whole))])
    variances = (GROUPS - 1) * gaps.var(axis=0)
    return compare_family(
        [
            judge_difference(100 * float(value - whole[best]), float(variance), images)
            for value, variance in zip(whole, variances, strict=True)
        ]
    )


def _directions(kernels: Sequence[Gram]) -> NDArray[np.float64]:
    """Return each kernel as a row of norm 1, or of zeros."""
    flat = np.stack([kernel.ravel() for kernel in kernels])
    lengths = np.linalg.norm(flat, axis=1, keepdims=True)
    return np.asarray(np.divide(flat, lengths, out=np.zeros_like(flat), where=lengths > 0))
