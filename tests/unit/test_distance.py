"""Attention distance against hand-computed pixels and the known baselines."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis import distance as d


def uniform(tokens: int) -> np.ndarray:
    return np.full((1, tokens, tokens), 1 / tokens)


# Recomputed independently of this project: uniform attention, self included.
@pytest.mark.parametrize(
    ("side", "patch_px", "expected"),
    [(14, 16, 116.49), (7, 32, 115.50), (8, 4, 16.546), (16, 2, 16.652), (7, 4, 14.438), (4, 8, 16.064)],
)
def test_uniform_attention(side: int, patch_px: int, expected: float) -> None:
    got = d.mean_attention_distance_px(uniform(side * side), (side, side), patch_px)
    assert got[0] == pytest.approx(expected, abs=6e-3)
    assert d.uniform_distance_px((side, side), patch_px) == pytest.approx(got[0])


def test_cls_takes_its_share_unless_rows_are_renormalised() -> None:
    attn = uniform(197)
    assert d.mean_attention_distance_px(attn, (14, 14), 16)[0] == pytest.approx(115.90, abs=6e-3)
    assert d.uniform_distance_px((14, 14), 16, prefix_tokens=1) == pytest.approx(115.90, abs=6e-3)
    assert d.mean_attention_distance_px(attn, (14, 14), 16, renormalise=True)[0] == pytest.approx(
        116.49, abs=6e-3
    )


def test_identity_attention_looks_nowhere_and_corners_are_farthest() -> None:
    assert d.mean_attention_distance_px(np.eye(49)[None], (7, 7), 4)[0] == 0
    assert d.corner_distance_px((14, 14), 16) == pytest.approx(294.16, abs=6e-3)


def test_two_by_two_by_hand() -> None:
    # Patches of 10 px:  0 1    distances from 0: to 1 and 2 10 px, to 3 14.1421 px.
    #                    2 3
    attn = np.array([[[0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]]])
    first = 0.2 * 10 + 0.3 * 10 + 0.4 * 10 * 2**0.5
    expected = (first + 10 + 10 * 2**0.5 + 0) / 4
    assert d.mean_attention_distance_px(attn, (2, 2), 10)[0] == pytest.approx(expected)
    np.testing.assert_allclose(d.query_distances_px(attn[0], (2, 2), 10), [[first, 10], [10 * 2**0.5, 0]])


def test_without_prefix_tokens_a_patchs_row_sums_to_one() -> None:
    attn = np.array([[0.2, 0.4, 0.4], [0.5, 0.1, 0.4], [0.0, 0.75, 0.25]])  # [CLS] and two patches
    np.testing.assert_allclose(d.without_prefix(attn, (1, 2)), [[0.2, 0.8], [0.75, 0.25]])
    # The mean over queries is then what the renormalised distance says.
    reach = d.query_distances_px(d.without_prefix(attn, (1, 2)), (1, 2), 4)
    assert reach.mean() == pytest.approx(
        d.mean_attention_distance_px(attn[None], (1, 2), 4, renormalise=True)[0]
    )


def softmax_rows(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    x = np.exp(np.random.default_rng(seed).normal(size=shape) * 2)
    return (x / x.sum(-1, keepdims=True)).astype(np.float32)


def straightforward(attn: np.ndarray, grid: tuple[int, int], patch_px: float) -> np.ndarray:
    """The definition as loops over images, heads and queries."""
    images, heads, tokens, _ = attn.shape
    prefix = tokens - grid[0] * grid[1]
    out = np.zeros((images, heads))
    for image in range(images):
        for head in range(heads):
            for q in range(grid[0] * grid[1]):
                for k in range(grid[0] * grid[1]):
                    step = np.hypot(q // grid[1] - k // grid[1], q % grid[1] - k % grid[1])
                    out[image, head] += attn[image, head, prefix + q, prefix + k] * patch_px * step
    return out / (grid[0] * grid[1])


def test_stream_equals_the_straightforward_sum_for_any_batching() -> None:
    attn = softmax_rows((7, 3, 2, 13, 13))  # images, depth, heads, one prefix token and a 3 x 4 grid
    results = []
    for batch in (1, 3, 7):
        stream = d.DistanceStream(depth=3, grid=(3, 4), patch_px=5, with_entropy=True)
        for start in range(0, 7, batch):
            for layer in range(3):
                stream.add(layer, attn[start : start + batch, layer])
        results.append(stream.result())
    for layer in range(3):
        expected = straightforward(attn[:, layer], (3, 4), 5)
        np.testing.assert_allclose(results[0].distance_px[:, layer], expected, rtol=1e-5)
        first = d.mean_attention_distance_px(attn[0, layer], (3, 4), 5)
        np.testing.assert_allclose(first, expected[0], rtol=1e-5)
    for other in results[1:]:
        np.testing.assert_allclose(other.distance_px, results[0].distance_px, rtol=1e-6)
        np.testing.assert_allclose(other.entropy_bits, results[0].entropy_bits, rtol=1e-5)
        np.testing.assert_allclose(other.mean_attn, results[0].mean_attn, rtol=1e-5)
    np.testing.assert_allclose(results[0].prefix_mass, attn[..., 1:, 0].mean(-1), rtol=1e-5)


def test_incomplete_streams_are_refused() -> None:
    stream = d.DistanceStream(depth=2, grid=(2, 2), patch_px=1)
    stream.add(0, softmax_rows((1, 1, 4, 4)))
    with pytest.raises(ValueError, match="needs at least 9 tokens, received 4"):
        d.mean_attention_distance_px(softmax_rows((1, 4, 4)), (3, 3), 1)


def test_offset_map_finds_a_shift() -> None:
    attn = np.zeros((12, 12))
    for q in range(12):
        row, col = divmod(q, 4)
        attn[q, min(row + 1, 2) * 4 + min(col + 1, 3)] = 1  # one down and right, or to the border
    offsets = d.offset_map(attn, (3, 4))
    assert offsets.shape == (5, 7)
    assert offsets[3, 4] == 1  # one down and one right: every query that has such a key
    assert offsets[2, 4] == pytest.approx(3 / 9)  # one right: the last row, but for its corner
    assert offsets[3, 3] == pytest.approx(2 / 8)  # one down: the last column
    assert offsets.sum() == pytest.approx(1 + 3 / 9 + 2 / 8 + 1 / 12)


def test_distribution_holds_all_mass_on_patches_and_its_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d, "BINS", 2000)
    attn = softmax_rows((10, 10))
    edges, mass = d.distance_distribution(attn, (3, 3), 4)
    assert mass.sum() == pytest.approx(attn[1:, 1:].sum() / 9)
    centres = (edges[1:] + edges[:-1]) / 2
    assert (centres * mass).sum() == pytest.approx(
        d.mean_attention_distance_px(attn[None], (3, 3), 4)[0], abs=0.01
    )


def test_windows_use_true_places_and_leave_padding_out() -> None:
    # A 2 x 3 grid in two 2 x 2 windows; the second one has a padded column.
    index = np.array([[0, 1, 3, 4], [2, -1, 5, -1]])
    attn = np.zeros((1, 2, 1, 4, 4))
    attn[0, 0, 0, :, 0] = 1  # all look at patch 0: 0, 1, 1 and sqrt 2 steps
    attn[0, 1, 0, :, 0] = 0.5  # patch 2 is 0 steps from 2 and 1 step from 5
    attn[0, 1, 0, :, 1] = 0.5  # padding: left out
    expected = 4 * (0 + 1 + 1 + 2**0.5 + 0 + 0.5) / 6
    assert d.window_distances_px(attn, index, (2, 3), 4)[0, 0] == pytest.approx(expected)
