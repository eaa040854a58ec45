"""Schedules and augmentation as functions: known values, seeded dice, bytes in and bytes out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from vitviz.config import TrainConfig
from vitviz.training.augmentation import augment, erase, mix, shift
from vitviz.training.schedule import learning_rate_factor

CONFIG = TrainConfig()


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("schedule", "progress", "expected"),
    [
        ("constant", 0.7, 1.0),
        ("warmup_cosine", 0.05, 0.5),
        ("warmup_cosine", 0.1, 1.0),
        ("warmup_cosine", 0.55, 0.505),
        ("warmup_cosine", 1.0, 0.01),
        ("one_cycle", 0.0, 1 / 25),
        ("one_cycle", 0.3, 1.0),
        ("one_cycle", 1.0, 1e-4),
    ],
)
def test_schedules_take_their_known_values(schedule: str, progress: float, expected: float) -> None:
    assert learning_rate_factor(schedule, progress, 0.1) == pytest.approx(expected)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match="received 'stairs'"):
        learning_rate_factor("stairs", 0.5, 0.1)


def test_no_augmentation_leaves_the_very_batch() -> None:
    images = torch.randint(0, 256, (4, 1, 8, 8), dtype=torch.uint8)
    assert augment(images, CONFIG, torch.zeros(1, dtype=torch.uint8), generator()) is images


def test_shift_moves_every_image_by_its_own_offset_and_fills_with_black() -> None:
    images = torch.zeros(64, 2, 9, 9, dtype=torch.uint8)
    images[:, :, 4, 4] = 200
    moved = shift(images, 3, generator())
    places = [tuple(spot[1:].tolist()) for image in moved for spot in [image.nonzero()[0]]]
    assert moved.shape == images.shape and moved.dtype == torch.uint8
    assert (moved == 200).flatten(1).sum(1).eq(2).all()
    assert len(set(places)) > 20 and {y for y, _ in places} == set(range(1, 8))


def test_erase_cuts_one_square_in_the_fill_colour() -> None:
    images = torch.full((50, 3, 16, 16), 7, dtype=torch.uint8)
    fill = torch.tensor([1, 2, 3], dtype=torch.uint8)
    cut = erase(images, 6, fill, generator())
    holes = (cut != 7).any(1)
    assert torch.equal(cut, torch.where(holes[:, None], fill[:, None, None], images))
    rows, columns = holes.any(2), holes.any(1)
    assert torch.equal(holes, rows[:, :, None] & columns[:, None, :])
    for side in (rows, columns):
        assert (side.int().diff().abs().sum(1) <= 2).all()  # in one run
        assert (side.sum(1).min(), side.sum(1).max()) == (3, 6)  # at an edge half of it is outside
    assert len({hole.numpy().tobytes() for hole in holes}) > 30


def test_augmentation_repeats_with_its_seed() -> None:
    config = replace(CONFIG, flip=True, shift_px=2, erase_px=4)
    images = torch.randint(0, 256, (16, 3, 12, 12), dtype=torch.uint8)
    fill = torch.zeros(3, dtype=torch.uint8)
    first, again, other = (augment(images, config, fill, generator(seed)) for seed in (5, 5, 6))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_mixup_and_cutmix_state_how_much_of_each_label_is_left() -> None:
    labels = torch.arange(10)
    inputs = labels.float()[:, None, None, None].expand(10, 1, 8, 8)
    blended, up = mix(inputs, labels, replace(CONFIG, mixup_alpha=0.4), generator(1))
    assert up.others is not None
    assert torch.allclose(blended[:, 0, 0, 0], up.weight * labels + (1 - up.weight) * up.others)
    assert 0.05 < up.weight < 0.95 and not torch.equal(up.others, labels)
    assert (blended == blended[:, :, :1, :1]).all()  # every pixel alike
    pasted, cut = mix(inputs, labels, replace(CONFIG, cutmix_alpha=1.0), generator(2))
    assert cut.others is not None
    assert torch.allclose(pasted.mean((1, 2, 3)), cut.weight * labels + (1 - cut.weight) * cut.others)
    assert 0.05 < cut.weight < 0.95 and not torch.equal(cut.others, labels)
    whose = [pasted[:, 0] == owner[:, None, None] for owner in (labels, cut.others)]
    assert (whose[0] | whose[1]).all()  # a pixel is of one of the two


def test_without_mixing_the_inputs_pass() -> None:
    inputs, labels = torch.zeros(2, 1, 4, 4), torch.tensor([0, 1])
    same, targets = mix(inputs, labels, CONFIG, generator())
    assert same is inputs and targets.labels is labels and targets.others is None
