"""Linear CKA: by hand, by its invariances, and against the formulas of the papers written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vitviz.analysis.cka import cka, compare_layers, gram

Float = NDArray[np.float64]


def features(n: int, width: int, seed: int) -> Float:
    return np.random.default_rng(seed).normal(size=(n, width)) ** 3 + 0.5


def plainly(x: Float, y: Float) -> float:
    """Kornblith et al. 2019, eq. 2 and section 3: ||YᵀX||² / (||XᵀX|| ||YᵀY||) of centred columns, sum by sum."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)

    def products(a: Float, b: Float) -> float:
        return sum(float(a[:, i] @ b[:, j]) ** 2 for i in range(a.shape[1]) for j in range(b.shape[1]))

    return products(x, y) / np.sqrt(products(x, x) * products(y, y))


def song(x: Float, y: Float) -> float:
    """Song et al. 2012, eq. 5: HSIC_1 with traces, as its authors write it."""
    n = len(x)
    k, l_ = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(l_, 0)
    ones = np.ones(n)
    trace = float(np.trace(k @ l_))
    sums = float(ones @ k @ ones) * float(ones @ l_ @ ones) / ((n - 1) * (n - 2))
    return (trace + sums - 2 * float(ones @ k @ l_ @ ones) / (n - 2)) / (n * (n - 3))


def one_of(x: Float, y: Float, debiased: bool = False) -> float:
    return float(cka([gram(x)], [gram(y)], debiased=debiased)[0, 0])


def test_it_is_the_papers_formula() -> None:
    x, y = features(30, 7, 0), features(30, 5, 1)
    y[:, 0] += 2 * x[:, 1]
    assert one_of(x, y) == pytest.approx(plainly(x, y), abs=1e-9)
    assert one_of(x.astype(np.float32), y.astype(np.float32)) == pytest.approx(plainly(x, y), abs=1e-6)
    expected = song(x, y) / np.sqrt(song(x, x) * song(y, y))
    assert one_of(x, y, debiased=True) == pytest.approx(expected, abs=1e-9)


def test_a_layer_that_says_the_same_of_all_is_like_none() -> None:
    flat = np.ones((6, 3))
    assert one_of(flat, features(6, 2, 0)) == 0


def test_layers_are_compared_over_images() -> None:
    x, other, noise = np.random.default_rng(0).normal(size=(3, 100, 8))
    turned, noisy = x @ np.linalg.qr(features(8, 8, 1))[0], x + noise
    verdicts = compare_layers(gram(x), [*map(gram, (other, turned, noisy))], debiased=True)
    assert [verdict.outcome for verdict in verdicts] == ["lower", "no difference shown", "lower"]
    alone = cka([gram(x)], [gram(noisy)], debiased=True)[0, 0]
    assert verdicts[2].estimate == pytest.approx(100 * (alone - 1)) and verdicts[0].images == 100
    few = compare_layers(gram(x[:5]), [gram(x[:5]), gram(x[:5])], debiased=True)
    assert [verdict.outcome for verdict in few] == [None, None] and few[0].reason


def test_the_jackknife_is_as_wide_as_repeated_draws() -> None:
    estimates, variances = [], []
    for seed in range(80):
        x, noise = np.random.default_rng(seed).normal(size=(2, 50, 8))
        mixing = np.diag([1.0, 1, 1, 1, 2, 2, 2, 3])
        second = compare_layers(gram(x), [gram(x + 0.3 * noise), gram(x @ mixing)], debiased=True)[1]
        estimates.append(second.estimate)
        variances.append(second.variances[1])
    assert 1 < np.sqrt(np.mean(variances)) / np.std(estimates) < 1.3, "a little cautious, never too narrow"
