"""Tokens as colours: components by hand, their signs and order from layer to layer."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis import token_colours as c


def cloud(n: int = 400, seed: int = 0) -> np.ndarray:
    """Independent columns of standard deviations 1, 9, 3, 5 around 7."""
    return np.random.default_rng(seed).normal(size=(n, 4)) * (1, 9, 3, 5) + 7


def test_components_are_the_axes_of_most_variance() -> None:
    x = np.array([[3.0, 0, 0, 0], [-3, 0, 0, 0], [0, 2, 0, 0], [0, -2, 0, 0], [0, 0, 1, 0], [0, 0, -1, 0]])
    found = c.fit_components(x)
    assert np.abs(found.axes) == pytest.approx(np.eye(4)[:, :3], abs=1e-9)
    assert found.shares == pytest.approx(np.array([9, 4, 1]) / 14)
    assert found.spread == pytest.approx(np.sqrt(np.array([9, 4, 1]) / 3))
    assert found.scores(x).var(axis=0) == pytest.approx(found.spread**2)


def test_they_are_scikit_learn_s_up_to_signs() -> None:
    from sklearn.decomposition import PCA

    x = cloud() @ np.linalg.qr(cloud(4, 1))[0]
    ours, theirs = c.fit_components(x), PCA(3).fit(x)
    np.testing.assert_allclose(np.abs(ours.scores(x)), np.abs(theirs.transform(x)), atol=1e-8)
    np.testing.assert_allclose(ours.shares, theirs.explained_variance_ratio_, atol=1e-12)


def test_fewer_values_than_colours_leave_colours_grey() -> None:
    found = c.fit_components(np.array([[1.0, 0], [0, 1], [2, 2]]))
    assert found.shares[2] == 0 and (c.colour_tokens(found, np.ones((1, 2)))[..., 2] == 128).all()


def test_the_first_layer_grows_with_brightness() -> None:
    x = cloud()
    for seed in range(4):
        bright = np.random.default_rng(seed).normal(size=len(x))
        scores = c.orient_by_brightness(c.fit_components(x), x, bright).scores(x)
        assert ((bright - bright.mean()) @ scores >= 0).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, 1, -1), (-1, -1, -1)])
def test_colours_do_not_flip_or_change_places(order: tuple[int, ...], signs: tuple[int, ...]) -> None:
    x = cloud()
    fitted = c.fit_components(x)
    before = fitted.scores(x)
    mixed = fitted.reorder(order, np.array(signs, float))
    found = c.match_previous(before, mixed, mixed.scores(x))
    np.testing.assert_allclose(found.scores(x), before, atol=1e-9)
    assert found.order == (1, 2, 3)
    np.testing.assert_allclose(found.shares, fitted.shares)


def test_a_layer_that_turns_its_tokens_keeps_their_colours() -> None:
    rng = np.random.default_rng(3)
    first = cloud(64).reshape(1, 8, 8, 4)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    grown = np.stack([first[..., 1] * 0.1, first[..., 3] * 9, first[..., 2], first[..., 0]], axis=-1)
    found = c.fit_layers([first, first @ turn, grown], rng.random((1, 32, 32)))
    before, after, last = (
        c.colour_tokens(one, x) for one, x in zip(found, (first, first @ turn, grown), strict=True)
    )
    assert np.abs(before.astype(int) - after).max() <= 1
    # The second component has grown most: it is the first by variance now, and still the second colour.
    assert found[2].order[1] == 1
    assert c.correlations(before[..., 1].reshape(-1, 1), last[..., 1].reshape(-1, 1))[0, 0] > 0.95


def test_grids_of_other_sizes_are_averaged_or_repeated() -> None:
    maps = np.arange(16.0).reshape(1, 4, 4, 1)
    np.testing.assert_array_equal(c.resample_grid(maps, (2, 2))[0, ..., 0], [[2.5, 4.5], [10.5, 12.5]])
    np.testing.assert_array_equal(c.resample_grid(maps[:, :2, :2], (4, 4))[0, 0, :, 0], [0, 0, 1, 1])
    np.testing.assert_array_equal(c.resample_grid(maps, (4, 4)), maps)


def test_a_colour_ends_two_standard_deviations_away() -> None:
    found = c.ColourDirections(np.zeros(3), np.eye(3), np.ones(3) / 3, np.ones(3))
    tokens = np.array([[0.0, 2.0, -2.0], [1.0, 9.0, -9.0]])
    assert c.colour_tokens(found, tokens).tolist() == [[128, 255, 0], [191, 255, 0]]


def test_how_far_colours_stay() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert c.mean_correlation(x, 2 * x + 1) == pytest.approx(1)
    assert c.mean_correlation(x, x * (1, 1, -1)) == pytest.approx(1 / 3)
