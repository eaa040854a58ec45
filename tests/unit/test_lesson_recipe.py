"""The lesson's fine-tuning, on sixty pictures and random weights."""

from __future__ import annotations

import pytest
import torch

from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model
from vitviz.training.lesson_recipe import fine_tune, head_swapped, parameter_groups, prepared

BODY = ViTConfig(image_size=32, patch_size=16, embed_dim=48, depth=2, num_heads=3, num_classes=1000)


def test_the_head_is_swapped_and_learns_a_hundred_times_faster() -> None:
    old = create_model(BODY, 0)
    model = head_swapped(old, BODY, 10)
    assert model.head.weight.shape == (10, 48)  # type: ignore[union-attr]
    assert torch.equal(
        model.state_dict()["blocks.1.mlp.fc2.weight"], old.state_dict()["blocks.1.mlp.fc2.weight"]
    )
    body, head = parameter_groups(model)
    assert (body["lr"], head["lr"]) == (1e-5, 1e-3) and len(head["params"]) == 2
    assert len(body["params"]) + 2 == len(list(model.parameters()))


def test_pictures_are_enlarged_and_normalised_and_moved_only_while_training() -> None:
    images = torch.full((2, 3, 8, 8), 255, dtype=torch.uint8)
    still = prepared(images, side_px=32)
    assert still.shape == (2, 3, 32, 32) and still[0, 0, 0, 0].item() == pytest.approx((1 - 0.485) / 0.229)
    moved = prepared(images, torch.Generator().manual_seed(1), 32)
    assert moved.shape == still.shape and not torch.equal(moved, still)  # black comes in at the edge


def test_sixty_pictures_are_learned_from_and_the_body_hardly_moves() -> None:
    dice = torch.Generator().manual_seed(0)
    labels = torch.arange(60) % 3
    images = torch.randint(0, 60, (60, 3, 8, 8), generator=dice, dtype=torch.uint8)
    images[torch.arange(60), labels] += 180  # each class its own colour
    model = head_swapped(create_model(BODY, 0), BODY, 3)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    losses: list[float] = []
    fine_tune(model, images, labels, epochs=6, side_px=32, told=lambda _, loss: losses.append(loss))
    assert len(losses) == 6 and losses[-1] < losses[0]
    far = {name: (tensor - before[name]).abs().max().item() for name, tensor in model.state_dict().items()}
    assert 0 < far["blocks.0.mlp.fc1.weight"] < far["head.weight"] / 20
