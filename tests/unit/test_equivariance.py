"""Maps that move as their image does, by hand and on convolutions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.analysis.equivariance import (
    equivariance_errors,
    liveliest_channel,
    move_and_stay,
    shift_map,
    unlikeness,
)

MAP = np.random.default_rng(0).standard_normal((4, 6, 3))


def test_whole_cells_move_and_half_cells_lie_between() -> None:
    row = np.array([0.0, 2.0, 4.0, 8.0])[None, :, None]
    assert shift_map(row, 1)[0, :, 0].tolist() == [0, 2, 4]
    assert shift_map(row, 0.5)[0, :, 0].tolist() == [1, 3, 6]
    assert shift_map(row, 1.25)[0, :, 0].tolist() == [1.5, 3.5]


def test_equal_maps_are_at_zero_and_unrelated_ones_at_one() -> None:
    a = np.array([1.0, -1.0, 1.0, -1.0]).reshape(2, 2, 1)
    b = np.array([1.0, 1.0, -1.0, -1.0]).reshape(2, 2, 1)  # without correlation
    assert unlikeness(a, a) == 0 and unlikeness(a, b) == 1
    assert unlikeness(a, -a) == pytest.approx(np.sqrt(2)) and unlikeness(0 * a, 0 * a) == 0


def test_a_map_that_is_moved_has_no_error_and_one_that_stays_has_nothing_but() -> None:
    after = np.concatenate([np.full((4, 2, 3), 9.0), MAP[:, :4]], axis=1)
    move, stay = move_and_stay(MAP, after, 2)
    assert move == 0 and stay > 0.5 and equivariance_errors(move, stay) == 0
    move, stay = move_and_stay(MAP, MAP, 2)
    assert move > 0.5 and stay == 0 and equivariance_errors(move, stay) == 1
    assert equivariance_errors(0.0, 0.0) == 0


@pytest.mark.parametrize("cells", [1, 4, 8])
def test_a_convolution_moves_along_inside_its_border_alone(cells: int) -> None:
    """The border of an image that is moved moves along."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(5, 2, 3, 3, generator=generator)
    image = torch.randn(1, 2, 16, 16, generator=generator)
    shifted = torch.full_like(image, 0.5)  # what comes in is not the padding's 0
    shifted[..., cells:] = image[..., :-cells]
    before, after = (
        torch.nn.functional.conv2d(x, weight, padding=1)[0].permute(1, 2, 0).numpy() for x in (image, shifted)
    )
    inside, everywhere = (move_and_stay(before, after, cells, margin)[0] for margin in (0.25, 0.0))
    assert inside < 1e-6 < 1e-3 < everywhere


def test_of_a_small_map_something_is_left_inside() -> None:
    rng = np.random.default_rng(0)
    for cols in range(2, 9):
        before, after = rng.standard_normal((2, 4, cols, 3))
        assert all(min(move_and_stay(before, after, cells, 0.25)) > 0 for cells in range(cols))


def test_the_liveliest_channel_varies_most() -> None:
    own = MAP.copy()
    own[..., 1] *= 10
    assert liveliest_channel(own) == 1
