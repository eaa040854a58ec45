import numpy as np
import pytest

from vitviz.analysis.attention import (
    entropy_bits,
    fuse_heads,
    kept_by_mass,
    map_of_token,
    map_onto_token,
    quantise_rows,
    readout_row,
    restore_rows,
    rows_of_windows,
)


def _attention(*shape: int, seed: int = 0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(scale=2.0, size=shape)
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_fusion_of_heads_by_hand() -> None:
    heads = np.array([[[0.2, 0.8]], [[0.6, 0.4]]])
    assert fuse_heads(heads, "mean") == pytest.approx(np.array([[0.4, 0.6]]))
    assert fuse_heads(heads, "max") == pytest.approx(np.array([[0.6, 0.8]]))
    assert fuse_heads(heads, "min") == pytest.approx(np.array([[0.2, 0.4]]))
    with pytest.raises(ValueError, match="fusion must be one of mean, max, min, received 'sum'"):
        fuse_heads(heads, "sum")  # type: ignore[arg-type]


def test_quantised_rows_come_back_within_the_stated_error() -> None:
    attn = _attention(3, 17, 17)
    codes, row_max = quantise_rows(attn)
    assert codes.dtype == np.uint16 and row_max.dtype == np.float32
    error = np.abs(restore_rows(codes, row_max) - attn)
    assert (error <= row_max[..., None] / 64000).all()
    keys, restored = (2 ** entropy_bits(rows) for rows in (attn, restore_rows(codes, row_max)))
    assert np.abs(keys - restored).max() < 1e-3  # effective tokens are shown with one decimal
    # The square root keeps small weights: a thousandth of the row's largest is far from zero.
    tiny, peak = quantise_rows(np.array([[1.0, 0.001]]))
    assert restore_rows(tiny, peak)[0, 1] == pytest.approx(0.001, rel=0.001)


def test_a_row_without_weight_stays_zero_and_one_of_tiny_weights_finite() -> None:
    codes, row_max = quantise_rows(np.array([[0.0, 0.0, 0.0], [1e-30, 0.0, 5e-31]]))
    assert not codes[0].any() and not row_max[0].any() and not codes[1, 1]
    assert restore_rows(codes, row_max).max() <= 1e-30


def test_the_mask_keeps_the_fewest_patches_that_hold_the_share() -> None:
    weights = np.array([[0.1, 0.4, 0.3, 0.2], [0.25, 0.25, 0.25, 0.25]])
    assert kept_by_mass(weights, 0.6).tolist() == [[False, True, True, False], [True, True, True, False]]
    assert kept_by_mass(weights, 0.7)[0].tolist() == [False, True, True, False]
    assert kept_by_mass(weights, 1.0).all()


def test_the_mask_is_per_map_whatever_its_scale() -> None:
    maps = np.stack([_attention(49)[None][0], _attention(49)[None][0] * 1e-4])
    kept = kept_by_mass(maps, 0.6)
    assert (kept[0] == kept[1]).all()


def test_what_the_readout_reads() -> None:
    matrix = _attention(6, 6)
    assert readout_row(matrix, ("cls", "reg1"), "cls") == pytest.approx(matrix[0, 2:])
    assert readout_row(matrix, ("cls", "dist"), "cls") == pytest.approx((matrix[0, 2:] + matrix[1, 2:]) / 2)
    assert readout_row(matrix, (), "mean") == pytest.approx(matrix.mean(axis=0))
    assert readout_row(matrix, ("reg1",), "mean") == pytest.approx(matrix[1:, 1:].mean(axis=0))
    assert readout_row(matrix, (), "first_patch") == pytest.approx(matrix[0])
    with pytest.raises(ValueError, match="readout"):
        readout_row(matrix, (), "last")


def test_entropy_of_known_rows() -> None:
    rows = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    for dtype in (np.float64, np.float16):
        assert entropy_bits(rows.astype(dtype)) == pytest.approx([0, 2, 1])


def test_windows_return_to_their_places_on_the_image() -> None:
    # A 2 x 4 grid in two 2 x 2 windows: tokens 0, 1, 4, 5 and 2, 3, 6, 7.
    index = np.array([[0, 1, 4, 5], [2, 3, 6, 7]])
    attn = _attention(2, 3, 4, 4)
    rows = rows_of_windows(attn, index)
    looks = map_of_token(rows, 6)  # slot 2 of window 1
    assert looks[:, index[1]] == pytest.approx(attn[1, :, 2])
    assert not looks[:, index[0]].any()
    assert looks.sum(axis=-1) == pytest.approx(1)
    # The column of a token is every token's row, read at it.
    column = np.stack([map_of_token(rows, query)[:, 6] for query in range(8)], axis=1)
    np.testing.assert_array_equal(map_onto_token(rows, 6), column)


def test_padded_slots_of_a_window_are_no_tokens() -> None:
    index = np.array([[0, 1, 2, -1]])
    rows = rows_of_windows(_attention(1, 2, 4, 4), index)
    assert rows.rows.shape == (2, 3, 4)
    assert map_of_token(rows, 1).shape == (2, 3)
