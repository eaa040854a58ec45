"""Rollout against twenty lines of NumPy, and against each mistake of widely copied code."""

import numpy as np
import pytest

from vitviz.analysis.explanation_methods import discard_lowest, rollout


def _attention(*shape: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def _by_hand(attn: np.ndarray) -> np.ndarray:
    """One image, (depth, heads, T, T): every sum written out."""
    depth, heads, T, _ = attn.shape
    result = [[float(i == j) for j in range(T)] for i in range(T)]
    for layer in range(depth):
        step = [[0.0] * T for _ in range(T)]
        for i in range(T):
            for j in range(T):
                mean = sum(attn[layer, h, i, j] for h in range(heads)) / heads
                step[i][j] = 0.5 * mean + (0.5 if i == j else 0.0)
        result = [[sum(step[i][k] * result[k][j] for k in range(T)) for j in range(T)] for i in range(T)]
    return np.array(result)


def test_rollout_equals_the_sums_written_out() -> None:
    attn = _attention(3, 2, 4, 6, 6)
    flow = rollout(attn)
    for image in range(2):
        np.testing.assert_allclose(flow[image], _by_hand(attn[:, image]), rtol=1e-12)


@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
@pytest.mark.parametrize("discard", [0.0, 0.5, 0.9])
def test_rows_sum_to_one_with_every_fusion_and_discard(fusion: str, discard: float) -> None:
    # The common slip divides columns: with max fusion its rows sum to anything.
    flow = rollout(_attention(3, 4, 3, 10, 10), fusion, discard)  # type: ignore[arg-type]
    np.testing.assert_allclose(flow.sum(axis=-1), 1)
    assert (flow >= 0).all()


def test_the_column_slip_would_be_seen() -> None:
    attn = _attention(1, 4, 3, 10, 10)
    step = 0.5 * attn[0].max(axis=-3) + 0.5 * np.eye(10)
    sums = step.sum(axis=-1)
    np.testing.assert_allclose(rollout(attn, "max"), step / sums[..., :, None])
    assert np.abs(rollout(attn, "max") - step / sums[..., None, :]).max() > 0.01


def test_discard_treats_every_image_of_the_batch() -> None:
    attn = _attention(2, 3, 2, 8, 8)
    together = rollout(attn, discard=0.6)
    for image in range(3):
        np.testing.assert_allclose(together[image], rollout(attn[:, [image]], discard=0.6)[0])


def test_discard_protects_the_prefix_columns_of_every_row() -> None:
    fused = _attention(2, 8, 8)
    fused[:, :, 0] = 1e-9  # the lowest of all, and still kept
    kept = discard_lowest(fused, 0.5, num_prefix_tokens=1)
    np.testing.assert_array_equal(kept[:, :, 0], fused[:, :, 0])
    assert (kept[:, :, 1:] == 0).sum(axis=(1, 2)).tolist() == [28, 28]  # half of 8 x 7 pairs, in each image
    dropped = np.where(kept[:, :, 1:] == 0, fused[:, :, 1:], 0).max(axis=(1, 2))
    assert (dropped < np.where(kept[:, :, 1:] > 0, kept[:, :, 1:], 1).min(axis=(1, 2))).all()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="discard"):
        rollout(_attention(1, 1, 1, 4, 4), discard=1.0)
    with pytest.raises(ValueError, match="at least one layer"):
        rollout(np.zeros((0, 1, 1, 4, 4)))
