"""Patches, tokens and the slips, on numbers that can be checked by hand, and against the model itself."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from tests.messages import unpack
from vitviz.analysis import patches
from vitviz.config import ViTConfig
from vitviz.models.layers import unfold_patches
from vitviz.models.zoo import create_model
from vitviz.plots import patches as plots
from vitviz.probe.capture import capture
from vitviz.probe.embedding import Embedding

RNG = np.random.default_rng(0)


def make_image(channels: int = 3, side: int = 32) -> np.ndarray:
    return RNG.normal(size=(channels, side, side)).astype(np.float32)


@pytest.mark.parametrize(
    ("side", "patch", "channels", "count", "values"),
    [(224, 16, 3, 196, 768), (32, 8, 3, 16, 192), (28, 4, 1, 49, 16), (28, 7, 1, 16, 49)],
)
def test_counts_are_the_papers(side: int, patch: int, channels: int, count: int, values: int) -> None:
    assert patches.patchify(make_image(channels, side), patch).shape == (count, values)


def test_a_two_by_two_cut_by_hand() -> None:
    cut = patches.patchify(np.arange(16).reshape(1, 4, 4), 2)
    assert cut.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


def test_order_is_a_convolutions_and_the_inverse_brings_it_back() -> None:
    image = make_image()
    cut = patches.patchify(image, 8)
    assert np.array_equal(cut, unfold_patches(torch.tensor(image)[None], 8)[0].numpy())
    assert np.array_equal(patches.unpatchify(cut, 3, (4, 4)), image)


def test_the_slip_cuts_runs_of_pixels() -> None:
    shown = np.arange(32 * 32 * 3).reshape(32, 32, 3)
    slip = patches.slip_patches(shown, 4)
    assert slip.shape == (64, 4, 4, 3)
    assert np.array_equal(slip[1].reshape(16, 3), shown[0, 16:32])  # half a row, not a square
    assert patches.slip_rows(32, 4) == 1
    assert patches.slip_rows(32, 8) == 2
    assert patches.slip_share((2, 2), 1) == patches.slip_share((4, 4), 4) == 1
    assert (
        patches.slip_share((4, 4), 2) == 0.5
    )  # runs of a whole row: half of it is right, twice; below the same
    assert patches.slip_rows(28, 7) == 3  # 49 pixels from column 21 on: rows 0, 1 and 2 of 28


@pytest.mark.parametrize("embed", ["conv", "unfold"])
@pytest.mark.parametrize(("channels", "side", "patch"), [(3, 32, 8), (1, 28, 7), (3, 64, 16)])
def test_the_d_vector_is_the_models_own(embed: str, channels: int, side: int, patch: int) -> None:
    config = ViTConfig(
        image_size=side,
        patch_size=patch,
        in_chans=channels,
        embed_dim=24,
        depth=1,
        num_heads=2,
        embed=embed,  # type: ignore[arg-type]
    )
    model = create_model(config, seed=3).eval()
    image = make_image(channels, side)
    own = capture(model, image[None], ["patch_embed"])["patch_embed"][0]
    proj = model.patch_embed.proj
    weight, bias = proj.weight.detach().flatten(1).numpy(), proj.bias.detach().numpy()
    tokens = patches.embed(patches.patchify(image, patch), weight, bias)
    assert patches.largest_difference(tokens, own) < 1e-5
    spelled_out = sum(x * w for x, w in zip(patches.patchify(image, patch)[5], weight[7], strict=True))
    assert abs(spelled_out + bias[7] - own[5, 7]) < 1e-5


def test_a_larger_share_moves_more_and_never_leaves_one_behind() -> None:
    moved = [
        set(np.flatnonzero(patches.scrambled_order(64, s, 7) != np.arange(64))) for s in (0, 0.25, 0.5, 1)
    ]
    assert [len(m) for m in moved] == [0, 16, 32, 64]
    assert moved[1] <= moved[2] <= moved[3]
    assert np.array_equal(patches.scrambled_order(64, 0.5, 7), patches.scrambled_order(64, 0.5, 7))


def test_sizes_that_do_not_fit_say_why() -> None:
    reasons = {s.patch_px: s.reason for s in patches.patch_sizes((28, 28), (8, 4, 7, 32))}
    assert list(reasons) == [4, 7, 8, 32]
    assert reasons[4] is None and reasons[7] is None
    assert reasons[8] == "28 = 3 × 8 + 4, so 4 px would be left over"
    assert reasons[32] == "32 px is larger than the 28 px image"
    assert (
        patches.patch_sizes((224, 224), (2,))[0].reason == "112 × 112 = 12,544 patches are too many to show"
    )


def test_positions_that_skip_the_prefix_start_with_zeros() -> None:
    rows = patches.position_rows(np.ones((4, 2), np.float32), 5, 2)
    assert rows.tolist() == [[0, 0]] + [[1, 1]] * 4
    assert not patches.position_rows(None, 5, 2).any()


def test_misfits_are_refused_with_what_was_received() -> None:
    image = make_image(1, 28)
    for call, words in (
        (lambda: patches.patchify(image, 5), "received 5"),
        (lambda: patches.patchify(image[0], 4), r"received shape \(28, 28\)"),
        (lambda: patches.slip_patches(image[0], 4), "image must be"),
        (lambda: patches.scramble(image, 7, np.zeros(16, np.int64)), "permutation"),
        (lambda: patches.scrambled_order(4, 1.5, 0), "1.5"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


SHOWN = RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)
WEIGHT = RNG.normal(size=(6, 48)).astype(np.float32)
TOKENS = RNG.normal(size=(4, 6)).astype(np.float32)


def test_the_stage_carries_one_sequence() -> None:
    cls = np.arange(6, dtype=np.float32)
    scene = plots.CutImage(SHOWN, make_image(3, 8), {"cls": cls}, 4)
    found = Embedding(WEIGHT, None, TOKENS, TOKENS, {"cls": cls}, None)
    message = plots.stage(scene, found, pin=4, column=5)
    header, arrays = unpack(message)
    assert (header["rows"], header["cols"], header["prefix"], header["pin"]) == (2, 2, ["cls"], 4)
    assert np.array_equal(arrays["prefix_tokens"], cls[None]) and not arrays["bias"].any()


def test_the_slips_mosaic_lays_each_run_in_its_patchs_place() -> None:
    header, arrays = unpack(plots.slip(SHOWN, patches.slip_patches(SHOWN, 4), 4, pin=3))
    assert (header["rows"], header["pin"]) == (2, 3)
    assert np.array_equal(arrays["mosaic"][:4, 4:].reshape(16, 3), SHOWN.reshape(64, 3)[16:32])


def test_the_terms_of_the_sequence_share_one_scale() -> None:
    positions = np.full((4, 6), 0.5, np.float32)
    scene = plots.CutImage(SHOWN, make_image(3, 8), {}, 4)
    header, arrays = unpack(plots.sequence(scene, TOKENS, positions, added=True, pin=2))
    assert header["pin"] == 2
    assert [panel["grid"] for panel in header["panels"]] == [[4, 6]] * 3
    content, added, total = (arrays[f"values{i}"] for i in range(3))
    assert np.array_equal(added.ravel(), positions.ravel()) and np.allclose(content + added, total)
    assert 0 < header["scale"] <= np.abs(TOKENS).max() + 0.5
    empty = np.zeros((4, 6), np.float32)
    assert unpack(plots.sequence(scene, empty, empty, added=False))[0]["scale"] == 1.0


def test_patches_apart_leave_the_paper_between_them() -> None:
    sheet = plots.separate_patches(SHOWN, 4)
    assert sheet.shape == (10, 10, 3) and (sheet[4:6] == 255).all()
    assert np.array_equal(sheet[6:, 6:], SHOWN[4:, 4:])
    with Image.open(io.BytesIO(plots.png(sheet))) as image:
        assert image.size == (510, 510)


def test_the_puzzle_keeps_its_order() -> None:
    order = patches.scrambled_order(4, 1.0, 0)
    steps = plots.ShuffleSteps(np.zeros((3, 8, 8), np.float32), patches.moving_order(4, 0), (0, 2, 4))
    header, arrays = unpack(plots.puzzle(SHOWN, order, 4, [], steps))
    assert np.array_equal(arrays["order"], order) and header["counts"] == [0, 2, 4]


def test_the_patches_move_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of tests/engine/views.test.js."""
    monkeypatch.setattr(patches, "moving_order", lambda count, seed: np.array([2, 0, 3, 1]))
    assert patches.scrambled_order(4, 0.75, 0).tolist() == [2, 1, 3, 0]
    image = np.arange(32.0).reshape(2, 4, 4)
    moved = patches.scramble(image, 2, np.array([3, 1, 2, 0]))
    assert moved[0].ravel().tolist() == [10, 11, 2, 3, 14, 15, 6, 7, 8, 9, 0, 1, 12, 13, 4, 5]
    assert moved[1, 0, 0] == 26
