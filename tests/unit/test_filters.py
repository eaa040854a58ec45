"""Principal components against an SVD by hand, signs over time, and rebuilding against what theory says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitviz.analysis import filters


def random_filters(count: int = 24, channels: int = 3, patch: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, channels, patch, patch))


@pytest.mark.parametrize("shape", [(24, 3, 4, 4), (64, 1, 4, 4), (10, 3, 8, 8)])
def test_components_equal_an_svd_by_hand_up_to_sign(shape: tuple[int, int, int, int]) -> None:
    weights = np.random.default_rng(1).standard_normal(shape)
    found = filters.principal_components(weights)
    flat = weights.reshape(len(weights), -1)
    _, singular, basis = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    count = min(shape[0] - 1, flat.shape[1])
    assert len(found.maps) == count
    products = (found.maps.reshape(count, -1) * basis[:count]).sum(axis=1)
    np.testing.assert_allclose(np.abs(products), 1.0, atol=1e-9)
    np.testing.assert_allclose(found.explained, (singular**2 / (singular**2).sum())[:count], atol=1e-12)
    assert found.explained.sum() == pytest.approx(1.0)


def test_fewer_components_are_the_first_of_all() -> None:
    weights = random_filters()
    np.testing.assert_array_equal(
        filters.principal_components(weights, 5).maps, filters.principal_components(weights).maps[:5]
    )


def test_signs_follow_the_previous_frame() -> None:
    maps = filters.principal_components(random_filters(), 6).maps
    turned = maps * np.array([1, -1, 1, -1, -1, 1])[:, None, None, None]
    np.testing.assert_array_equal(filters.align_signs(turned, maps), maps)


def test_over_time_no_component_turns_round() -> None:
    rng = np.random.default_rng(3)
    start, end = random_filters(seed=4) * np.linspace(3, 1, 48).reshape(3, 4, 4), random_filters(seed=5)
    frames = [start + share * end + 1e-3 * rng.standard_normal(start.shape) for share in np.linspace(0, 1, 8)]
    maps, shares = filters.components_over_time(frames, 7)
    assert maps.shape == (8, 7, 3, 4, 4) and shares.shape == (8, 7)
    assert ((maps[1:] * maps[:-1]).sum(axis=(2, 3, 4)) >= 0).all()


def test_tiles_use_their_own_range() -> None:
    maps = random_filters(3)
    tiles, ends = filters.to_bytes(maps)
    assert tiles.shape == (3, 4, 4, 3) and tiles.dtype == np.uint8
    assert (tiles.reshape(3, -1).min(axis=1) == 0).all() and (tiles.reshape(3, -1).max(axis=1) == 255).all()
    back = ends[:, :1, None, None] + tiles / 255 * (ends[:, 1:, None, None] - ends[:, :1, None, None])
    np.testing.assert_allclose(np.moveaxis(back, -1, 1), maps, atol=np.ptp(maps) / 500)
    constant, _ = filters.to_bytes(np.ones((1, 1, 2, 2)))
    assert not constant.any()


def test_roughness_tells_ramps_from_noise_and_chessboards() -> None:
    ramp = np.linspace(0, 1, 16)[None, None, None].repeat(16, axis=2)
    board = np.indices((16, 16)).sum(axis=0)[None, None] % 2
    noise = np.random.default_rng(0).standard_normal((1, 1, 64, 64))
    rough = [filters.roughness(m.astype(float))[0] for m in (ramp, noise, board)]
    assert (
        rough[0] < 0.05
        and rough[1] == pytest.approx(1.0, abs=0.1)
        and rough[2] == pytest.approx(2.0 * 255 / 256)
    )
    assert filters.roughness(np.ones((1, 1, 3, 3)))[0] == 0.0


@pytest.mark.parametrize("shape", [(64, 1, 2, 2), (48, 3, 2, 2), (64, 1, 4, 4), (64, 3, 8, 8)])
def test_random_filters_are_as_rough_as_noise_whatever_their_size(shape: tuple[int, int, int, int]) -> None:
    """Patches of 2 px lose a quarter of their variance with their mean: undivided, noise has 1.33 there."""
    found = [
        filters.measure_filters(np.random.default_rng(seed).standard_normal(shape)).head for seed in range(40)
    ]
    assert np.mean(found) == pytest.approx(1, abs=0.03) and min(found) > filters.NOISY


def test_cutting_equals_the_convolution_s_order() -> None:
    image = np.random.default_rng(0).standard_normal((3, 8, 12))
    weights = random_filters(5)
    convolved = torch.nn.functional.conv2d(torch.tensor(image)[None], torch.tensor(weights), stride=4)
    by_hand = np.einsum("ncyx,dcyx->nd", filters.cut_patches(image, 4), weights)
    np.testing.assert_allclose(convolved[0].flatten(1).T.numpy(), by_hand, atol=1e-12)
    with pytest.raises(ValueError, match="patch_px must divide 8 x 12 px, received 5"):
        filters.cut_patches(image, 5)


@pytest.mark.parametrize(("channels", "patch"), [(1, 4), (3, 4), (3, 8)])
def test_dct_is_orthonormal_and_starts_with_the_mean(channels: int, patch: int) -> None:
    basis = filters.dct_basis(channels, patch)
    flat = basis.reshape(len(basis), -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(channels * patch**2), atol=1e-12)
    np.testing.assert_allclose(basis[0], 1 / np.sqrt(channels * patch**2))
    assert len(filters.dct_basis(channels, patch, 7)) == 7


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_pca_of_the_patches_is_the_best_at_every_k(seed: int, count: int) -> None:
    patches = random_filters(count, 3, 2, seed)
    best = filters.rebuild_patches(patches, filters.principal_components(patches).maps)
    other = filters.rebuild_patches(
        patches, filters.principal_components(random_filters(24, 3, 2, seed + 1)).maps
    )
    waves = filters.rebuild_patches(patches, filters.dct_basis(3, 2))
    for rival in (other, waves):
        shared = min(len(best.error), len(rival.error))
        assert (best.error[:shared] <= rival.error[:shared] + 1e-6).all()
    assert best.error[-1] == pytest.approx(0.0, abs=1e-6) and waves.error[-1] == pytest.approx(0.0, abs=1e-6)


def test_rebuilding_error_is_what_it_says() -> None:
    patches = random_filters(9, 3, 4)
    found = filters.rebuild_patches(patches, filters.dct_basis(3, 4))
    k = 11
    rebuilt = found.mean + np.einsum("nk,kcyx->ncyx", found.coefficients[:, :k], found.basis[:k])
    assert found.error[k] == pytest.approx(np.sqrt(((patches - rebuilt) ** 2).mean()))


def test_an_answer_adds_up() -> None:
    weights, patch = random_filters(6), random_filters(1, seed=9)[0]
    found = filters.apply_filter(patch, weights, np.arange(6.0), 4)
    assert found.value == pytest.approx(float(patch.ravel() @ weights[4].ravel()) + 4.0)
    assert filters.apply_filter(patch, weights, None, 4).value == pytest.approx(found.value - 4.0)


def test_waves_are_told_from_noise() -> None:
    rng = np.random.default_rng(0)
    waves = filters.dct_basis(3, 8, 8)
    mixed = np.einsum("dk,kcyx->dcyx", rng.standard_normal((64, 8)) * np.linspace(3, 1, 8), waves)
    noise = rng.standard_normal((64, 3, 8, 8))
    seen, blind = filters.measure_filters(mixed), filters.measure_filters(noise)
    assert seen.waves and seen.head < 0.3 and seen.held == pytest.approx(1)
    assert not blind.waves and blind.head == pytest.approx(1, abs=0.15)
    assert (seen.count, blind.count) == (28, 28) and blind.held < 0.8
    assert not filters.measure_filters(0.1 * mixed + noise).waves


def test_one_filter_has_no_components() -> None:
    with pytest.raises(ValueError, match="D of at least 2, received"):
        filters.measure_filters(np.ones((1, 3, 2, 2), np.float32))
