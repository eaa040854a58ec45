"""The Swin lens on numbers that are known, and its reachable sets against real gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from vitviz import shifted_windows
from vitviz.analysis import token_reach
from vitviz.analysis import window_attention as analysis
from vitviz.config import SwinConfig
from vitviz.models.zoo import create_model
from vitviz.pin import Pin
from vitviz.plots import swin as plots
from vitviz.probe.swin import (
    attention_layer,
    block_window,
    measure,
    merging_norm,
    patch_gradients,
    position_bias_table,
)

SMALL = SwinConfig(image_size=16, in_chans=1, embed_dim=8, depths=(2, 2), num_heads=(1, 2), window_size=2)
UNEVEN = SwinConfig(image_size=20, in_chans=1, embed_dim=8, depths=(2, 2), num_heads=(1, 2), window_size=4)


def merge_links(grid: tuple[int, int]) -> np.ndarray:
    """links[merged token, token] of patch merging, 2 x 2 to one."""
    rows, cols = grid
    row, col = np.divmod(np.arange(rows * cols), cols)
    merged = row // 2 * -(-cols // 2) + col // 2
    links = np.zeros((-(-rows // 2) * -(-cols // 2), rows * cols), dtype=bool)
    links[merged, np.arange(rows * cols)] = True
    return links


def wake(model: torch.nn.Module) -> torch.nn.Module:
    """Weights large enough that no path's gradient is small by chance."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.eval().requires_grad_(False)


def test_the_most_masked_patch_lies_in_a_corner_of_the_image() -> None:
    layout = analysis.create_layout((8, 8), 4, 2)
    window, slot = np.argwhere(layout.index == layout.find_most_masked())[0]
    assert layout.find_most_masked() == 0
    assert (layout.mask[window, slot] < 0).sum() == 12


@pytest.mark.parametrize(
    ("side", "window", "shift", "masked", "touched"), [(4, 2, 1, 28, 3), (8, 4, 2, 448, 3)]
)
def test_the_layout_masks_what_the_roll_brings_together(
    side: int, window: int, shift: int, masked: int, touched: int
) -> None:
    found = analysis.create_layout((side, side), window, shift)
    assert (found.masked_pairs, found.masked_windows) == (masked, touched)
    plan = shifted_windows.plan((side, side), (side, side), window, True)
    for name in ("index", "ids", "mask"):
        assert np.array_equal(getattr(found, name), getattr(plan, name)), name


def test_no_shift_masks_nothing() -> None:
    found = analysis.create_layout((8, 8), 4, 0)
    assert found.masked_pairs == 0 and np.array_equal(found.index, found.plain)


@pytest.mark.parametrize("shift", [-1, 4])
def test_a_shift_lies_inside_a_window(shift: int) -> None:
    with pytest.raises(ValueError, match="shift must lie in 0 to 3"):
        analysis.create_layout((8, 8), 4, shift)


def test_without_the_mask_attention_crosses_the_edge() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    found = analysis.create_layout((8, 8), 4, 2)
    masked, bare = (analysis.colour_attention(image, found, mask) for mask in (True, False))
    assert np.allclose(masked.sum(-1), 1, atol=1e-5) and np.allclose(bare.sum(-1), 1, atol=1e-5)
    assert masked[found.mask < 0].max() < 1e-30
    leak = analysis.leaked_share(found, bare)
    assert (leak > 0).sum() == 48  # three windows of sixteen hold more than one region
    assert leak[found.index[0]].max() == 0  # the first window holds one region
    assert analysis.leaked_share(found, masked).max() < 1e-30


def test_mean_colours_by_hand() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    image[:2, 2:] = (8, 16, 24)
    assert analysis.mean_colours(image, 2, 2).tolist() == [[0, 0, 0], [8, 16, 24], [0, 0, 0], [0, 0, 0]]


def test_a_merge_by_hand() -> None:
    """A grid of 3 x 3: the last column's group has two tokens and two of zeros."""
    before = np.arange(9, dtype=np.float32).reshape(3, 3, 1)
    after = np.stack([np.full((2, 2), 7.0), np.full((2, 2), 8.0)], axis=-1).astype(np.float32)
    norm = (np.ones(4, np.float32), np.zeros(4, np.float32), 0.0)
    found = analysis.merge_at(before, after, 1, (0, 1), norm)
    assert found.four_at == ((0, 2), (1, 2), (0, 3), (1, 3))
    assert found.four.ravel().tolist() == [2, 5, 0, 0] and found.merged.tolist() == [7, 8]
    assert np.allclose([found.normed.mean(), found.normed.std()], [0, 1], atol=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_the_slope_of_a_power_is_its_exponent(power: int) -> None:
    x = np.array([2.0, 5.0, 11.0])
    assert analysis.log_slope(x, 3 * x**power) == pytest.approx(power)


def test_reach_by_hand() -> None:
    """4 x 4 patches, M = 2, s = 1: patch 0 fills its window, then the middle window adds nothing for a corner."""
    found = analysis.create_layout((4, 4), 2, 1)
    plain = token_reach.window_links(found.plain, None, 16)
    shifted = token_reach.window_links(found.index, found.mask, 16)
    assert np.flatnonzero(plain[0]).tolist() == [0, 1, 4, 5]
    assert np.flatnonzero(shifted[0]).tolist() == [0]  # the corner is alone in its region
    assert np.flatnonzero(shifted[5]).tolist() == [5, 6, 9, 10]
    hops = token_reach.first_block(token_reach.alternate(plain, shifted, 3))
    # From patch 0: its window, then what 1, 4 and 5 touch in the shifted one, then their windows: everything.
    assert (hops[:, 0] == 0).sum() == 1 and (hops[:, 0] <= 1).sum() == 4
    assert np.flatnonzero(hops[:, 0] <= 2).tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    assert hops[:, 0].max() == 3
    never = token_reach.first_block(token_reach.alternate(plain, plain, 3))
    assert (never[:, 0] == token_reach.NEVER).sum() == 12


def test_a_convolution_reaches_its_radius_and_a_merge_its_four() -> None:
    assert token_reach.convolution_links((5, 5), 1)[12].sum() == 9
    assert np.flatnonzero(merge_links((4, 4))[1]).tolist() == [2, 3, 6, 7]
    assert merge_links((3, 3)).sum(axis=1).tolist() == [4, 2, 2, 1]


@pytest.mark.parametrize("config", [SMALL, UNEVEN])
@pytest.mark.parametrize("point", [(0.05, 0.05), (0.45, 0.55), (0.95, 0.3)])
def test_the_reachable_set_is_where_a_real_gradient_is_not_zero(
    config: SwinConfig, point: tuple[float, float]
) -> None:
    model = wake(create_model(config, seed=0))
    side = config.image_size
    image = np.random.default_rng(1).normal(size=(1, side, side)).astype(np.float32)
    blocks = token_reach.swin_blocks(config, (side // 2, side // 2))
    found = patch_gradients(model, image, [block.name for block in blocks], point)
    for number, (block, gradient) in enumerate(zip(blocks, found, strict=True)):
        token = Pin(point).cell(block.grid)
        reached = token_reach.reads(blocks, number, token)
        assert np.array_equal(gradient > token_reach.NOTHING * gradient.max(), reached), block.name


@pytest.mark.parametrize("config", [SMALL, UNEVEN])
def test_walking_back_is_the_product_of_the_links(config: SwinConfig) -> None:
    side = config.image_size // 2
    blocks = token_reach.swin_blocks(config, (side, side))
    steps = []
    for block in blocks:
        mask = np.where(block.allowed, 0.0, shifted_windows.MASKED).astype(np.float32)
        links = token_reach.window_links(block.index, mask, block.grid[0] * block.grid[1])
        if block.merged_from is not None:
            steps.append(merge_links(block.merged_from))
        steps.append(links)
    last = token_reach.follow(steps)[-1]
    tokens = range(len(last))
    assert np.array_equal(np.stack([token_reach.reads(blocks, len(blocks) - 1, t) for t in tokens]), last)


def test_a_model_without_its_mask_is_caught() -> None:
    """Gradients through unmasked windows touch patches that the masks do not allow."""
    blocks = token_reach.swin_blocks(SMALL, (8, 8))
    allowed = token_reach.reads(blocks, 1, 0)
    unmasked = [replace(block, allowed=np.ones_like(block.allowed)) for block in blocks]
    leaking = token_reach.reads(unmasked, 1, 0)
    model = wake(create_model(SMALL, seed=0))
    image = np.random.default_rng(1).normal(size=(1, 16, 16)).astype(np.float32)
    (measured,) = patch_gradients(model, image, [blocks[1].name], (0.05, 0.05))
    seen = measured > token_reach.NOTHING * measured.max()
    assert np.array_equal(seen, allowed)
    assert not np.array_equal(seen, leaking)
    assert leaking.sum() == 16 > allowed.sum() == 4


def test_both_forms_of_attention_are_one_on_a_single_window() -> None:
    """Where one window covers the grid, both do the same work on the same tokens."""
    attend = attention_layer(32)
    x = torch.randn(1, 16, 32, generator=torch.Generator().manual_seed(0))
    index = torch.from_numpy(shifted_windows.partition(np.arange(16).reshape(4, 4), (4, 4)))
    torch.testing.assert_close(attend(x[0, index]), attend(x))


def test_memory_grows_with_the_square_of_the_tokens_only_without_windows() -> None:
    """Scores and their softmax are held at once: two tables of heads x tokens x tokens floats."""
    small, large = measure((8, 16), dim=32, window=4, repeats=1)
    assert large.global_bytes >= 2 * 4 * 256**2
    assert large.window_bytes == 4 * small.window_bytes
    assert large.global_bytes > 8 * small.global_bytes
    assert min(small.global_s, small.window_s, large.global_s, large.window_s) > 0


def test_parts_of_a_model_are_its_own() -> None:
    model = create_model(SMALL, seed=0)
    table = position_bias_table(model, 1, 0)
    assert table.shape == (2, 9) and block_window(model, 1, 0) == (2, 2)
    index = shifted_windows.relative_position_index((2, 2))
    bias = model.layers[1].blocks[0].attn.relative_position_bias().detach().numpy()
    assert np.array_equal(table[:, index], bias)
    with pytest.raises(ValueError, match="does not begin by merging"):
        merging_norm(model, 0)


def test_block_titles_say_which_blocks_shift() -> None:
    assert plots.block_title("layers.0.blocks.0") == "Stage 1, block 1"
    assert plots.block_title("layers.2.blocks.5") == "Stage 3, block 6 · shifted"
