"""Similarities, structure and wishes of position tables, on cases that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.analysis import position_similarity
from vitviz.models.vit import resize_positions
from vitviz.plots.positions import rotary_figure
from vitviz.sinusoids import sincos_1d_slip


# Recomputed independently of this project for D = 64.
@pytest.mark.parametrize(
    ("i", "j", "expected"), [(5, 6, 0.9671), (5, 7, 0.8796), (5, 8, 0.8084), (6, 7, 0.9674), (7, 8, 0.9784)]
)
def test_the_slip_has_its_own_similarities(i: int, j: int, expected: float) -> None:
    similarity = position_similarity.cosine_similarity(sincos_1d_slip(10, 64))
    assert similarity[i, j] == pytest.approx(expected, abs=5e-5)


def test_the_right_formula_depends_on_distance_alone_and_the_slip_does_not() -> None:
    right = position_similarity.score_encoding(position_similarity.encode("sincos_1d", (1, 12), 64), (1, 12))
    slipped = position_similarity.score_encoding(position_similarity.encode("slip", (1, 12), 64), (1, 12))
    assert right.relative == pytest.approx(1.0)
    assert slipped.relative < 0.9999


def test_on_a_4_x_4_grid_one_dimension_takes_3_and_4_for_neighbours() -> None:
    flat = position_similarity.cosine_similarity(position_similarity.encode("sincos_1d", (4, 4), 64))
    assert flat[3, 4] == pytest.approx(flat[3, 2])  # 3 ends the first row, 4 begins the second
    for kind in ("sincos_2d_sum", "sincos_2d_concat"):
        square = position_similarity.cosine_similarity(position_similarity.encode(kind, (4, 4), 64))
        assert square[3, 4] < square[3, 2]
        assert set(np.argsort(-square[0], kind="stable")[1:3]) == {1, 4}


def test_summed_positions_are_twins_across_the_diagonal() -> None:
    table = position_similarity.encode("sincos_2d_sum", (4, 4), 64)
    np.testing.assert_array_equal(table[1 * 4 + 2], table[2 * 4 + 1])
    assert position_similarity.score_encoding(table, (4, 4)).distinct == pytest.approx(4 / 16)


@pytest.mark.parametrize("kind", ["sincos_1d", "sincos_2d_concat", "random"])
def test_other_codes_are_unique(kind: position_similarity.Encoding) -> None:
    assert (
        position_similarity.score_encoding(position_similarity.encode(kind, (8, 8), 64), (8, 8)).distinct
        == 1.0
    )


def test_no_positions_have_no_structure() -> None:
    table = position_similarity.encode("none", (3, 3), 8)
    assert not position_similarity.cosine_similarity(table).any()
    measured = position_similarity.score_encoding(table, (3, 3))
    assert (measured.overlap, measured.distinct, measured.nearest) == (0.0, 0.0, 0.0)
    assert np.isnan(measured.relative) and np.isnan(measured.near)


def test_structure_of_the_concatenated_table_has_its_closed_form() -> None:
    dim, grid = 32, (5, 7)
    found = position_similarity.measure_structure(
        position_similarity.cosine_similarity(position_similarity.encode("sincos_2d_concat", grid, dim)), grid
    )
    omega = 10000.0 ** (-np.arange(dim // 4) / (dim // 4 - 1))

    def expected(d: int) -> float:
        return float(2 / dim * (np.cos(omega * d) + 1).sum())

    np.testing.assert_allclose(found.along_row, [expected(d) for d in range(7)])
    np.testing.assert_allclose(found.along_column, [expected(d) for d in range(5)])
    assert found.either_step == pytest.approx(expected(1))
    assert found.elsewhere < found.either_step


def test_structure_separates_rows_from_columns() -> None:
    rows_only = np.repeat(np.eye(3), 4, axis=0)  # a code of the row alone, on a 3 x 4 grid
    found = position_similarity.measure_structure(position_similarity.cosine_similarity(rows_only), (3, 4))
    np.testing.assert_allclose(found.along_row, 1.0)
    np.testing.assert_allclose(found.along_column, [1.0, 0.0, 0.0])
    assert found.elsewhere == 0.0
    # of the 9 + 8 unordered pairs one step apart, the 9 along rows are alike
    assert found.either_step == pytest.approx(9 / 17)


def test_wishes_on_a_line_of_codes() -> None:
    angle = np.linspace(0, 1, 6)  # a quarter circle: similarity falls with distance and with nothing else
    measured = position_similarity.score_encoding(np.stack([np.cos(angle), np.sin(angle)], axis=1), (1, 6))
    assert measured.relative == pytest.approx(1.0)
    assert measured.near == pytest.approx(1.0)
    assert measured.nearest == 1.0
    orthogonal = position_similarity.score_encoding(np.eye(6), (2, 3))
    assert orthogonal.overlap == 0.0 and orthogonal.distinct == 1.0


def test_prefix_rows_are_dropped() -> None:
    table = np.arange(15.0).reshape(1, 5, 3)
    np.testing.assert_array_equal(position_similarity.patch_rows(table, (2, 2)), table[0, 1:])


def test_wavelengths_run_from_two_pi_to_the_base() -> None:
    waves = position_similarity.wavelengths("sincos_2d_concat", 64)
    assert waves[0] == pytest.approx(2 * np.pi) and waves[15] == pytest.approx(2 * np.pi * 10000)
    one = position_similarity.wavelengths("sincos_1d", 64)
    np.testing.assert_array_equal(one[0::2], one[1::2])
    assert np.isnan(position_similarity.wavelengths("random", 4)).all()


def test_bad_shapes_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match="received 'spiral'"):
        position_similarity.encode("spiral", (2, 2), 8)  # type: ignore[arg-type]


def test_resizing_keeps_prefix_and_structure() -> None:
    table = position_similarity.encode("sincos_2d_concat", (8, 8), 32)
    prefix = np.full((1, 32), 7.0)
    stretched = resize_positions(
        torch.tensor(np.concatenate([prefix, table]))[None].float(), (8, 8), (16, 16)
    )[0].numpy()
    np.testing.assert_array_equal(stretched[0], prefix[0])
    before = position_similarity.measure_structure(position_similarity.cosine_similarity(table), (8, 8))
    after = position_similarity.measure_structure(
        position_similarity.cosine_similarity(position_similarity.patch_rows(stretched, (16, 16))), (16, 16)
    )
    # twice as many patches on the same image: two new steps are about one old one
    assert after.along_row[1] > before.along_row[1]
    assert after.along_row[4] == pytest.approx(before.along_row[2], abs=0.1)


def test_stretching_as_a_list_forgets_the_rows() -> None:
    table = position_similarity.encode("sincos_2d_concat", (4, 4), 32)
    np.testing.assert_allclose(position_similarity.stretch_as_list(table, 16), table)
    ramp = np.arange(5.0)[:, None]
    np.testing.assert_allclose(position_similarity.stretch_as_list(ramp, 9)[:, 0], np.arange(9) / 2)
    grid = resize_positions(torch.tensor(table)[None].float(), (4, 4), (8, 8))[0].numpy()
    flat = position_similarity.stretch_as_list(table, 64)
    right, slip = (position_similarity.score_encoding(t, (8, 8)).near for t in (grid, flat))
    assert right > slip + 0.2


@pytest.mark.parametrize(("grid", "dim", "base"), [((3, 5), 8, 100.0), ((8, 8), 32, 1000.0)])
def test_rotary_similarity_is_the_score_at_the_offset(grid: tuple[int, int], dim: int, base: float) -> None:
    (rows, cols), similarity = (
        grid,
        position_similarity.cosine_similarity(position_similarity.encode("rotary", grid, dim, base)),
    )
    scores = position_similarity.rotary_scores(grid, dim, base)
    row, col = np.divmod(np.arange(rows * cols), cols)
    down, right = row - row[:, None], col - col[:, None]
    np.testing.assert_allclose(similarity, scores[down + rows - 1, right + cols - 1], atol=1e-12)
    assert position_similarity.score_encoding(
        position_similarity.encode("rotary", grid, dim, base), grid
    ).relative == pytest.approx(1)
    turns = position_similarity.rotary_turns(grid, dim, base, (1, 2))
    quarter = dim // 4
    for axis, step in ((0, 1 / rows), (1, 2 / cols)):
        expected = [4 * np.pi * step / base ** (4 * k / dim) for k in range(quarter)]
        np.testing.assert_allclose(turns[axis], expected)
    assert scores[rows, cols + 1] == pytest.approx(np.cos(turns).mean())
    figure = rotary_figure(grid, dim, base, (1, 2))
    frame, drawn = figure.parts["shapes"][0], figure.traces[0]
    x, y = ((frame[f"{axis}0"] + frame[f"{axis}1"]) / 2 for axis in "xy")
    assert (x, y) == (2, 1) and drawn["z"][drawn["y"].index(y)][drawn["x"].index(x)] == scores[rows, cols + 1]
