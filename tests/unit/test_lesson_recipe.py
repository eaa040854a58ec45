"""The lesson's fine-tuning, on sixty images and random weights."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from vitviz.config import ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.models.zoo import create_model
from vitviz.training.lesson_recipe import (
    EPOCHS,
    SIDE_PX,
    fine_tune,
    parameter_groups,
    prepared,
    replace_head,
)

BODY = ViTConfig(image_size=32, patch_size=16, embed_dim=48, depth=2, num_heads=3, num_classes=1000)


def test_the_head_is_swapped_and_learns_a_hundred_times_faster() -> None:
    old = create_model(BODY, 0)
    model = replace_head(old, BODY, 10)
    assert model.head.weight.shape == (10, 48)  # type: ignore[union-attr]
    assert torch.equal(
        model.state_dict()["blocks.1.mlp.fc2.weight"], old.state_dict()["blocks.1.mlp.fc2.weight"]
    )
    body, head = parameter_groups(model)
    assert (body["lr"], head["lr"]) == (1e-5, 1e-3) and len(head["params"]) == 2
    assert len(body["params"]) + 2 == len(list(model.parameters()))


def test_images_are_enlarged_and_normalised_and_moved_only_while_training() -> None:
    images = torch.full((2, 3, 8, 8), 255, dtype=torch.uint8)
    still = prepared(images, side_px=32)
    assert still.shape == (2, 3, 32, 32) and still[0, 0, 0, 0].item() == pytest.approx((1 - 0.485) / 0.229)
    moved = prepared(images, torch.Generator().manual_seed(1), 32)
    assert moved.shape == still.shape and not torch.equal(moved, still)  # black comes in at the edge


def test_sixty_small_images_of_ten_classes_are_learned_from_as_the_lesson_writes_it() -> None:
    """Two epochs in the lesson's own numbers: batches of 32, AdamW with decay 0.01, 4 px of padding, a cosine."""
    few = load_dataset("cifar10-few")
    images = torch.from_numpy(few.test_images[:60].copy()).permute(0, 3, 1, 2)
    labels = torch.from_numpy(few.labels_of("test")[:60].copy()).long()
    model, ours = (replace_head(create_model(BODY, 0), BODY, 10) for _ in range(2))
    reported: list[int] = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fine_tune(
            ours, images, labels, epochs=2, side_px=32, on_epoch=lambda epoch, _: reported.append(epoch)
        )
        torch.manual_seed(0)
        head = {id(parameter) for name, parameter in model.named_parameters() if "head" in name}
        groups = [
            {"params": [p for p in model.parameters() if (id(p) in head) == is_head], "lr": rate}
            for is_head, rate in ((False, 1e-5), (True, 1e-3))
        ]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        dice = torch.Generator().manual_seed(0)
        model.train()
        for epoch in range(2):
            for group, rate in zip(optimizer.param_groups, (1e-5, 1e-3), strict=True):
                group["lr"] = rate * (1 + math.cos(math.pi * epoch / 2)) / 2
            order = torch.randperm(60, generator=dice)
            for chosen in (order[:32], order[32:]):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(cut_and_flipped(images[chosen], dice)), labels[chosen])
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], tensor, rtol=1e-4, atol=1e-6, msg=name)
    assert len(reported) == 2 and EPOCHS == 10 and SIDE_PX == 224


def cut_and_flipped(images: Tensor, dice: torch.Generator) -> Tensor:
    """Pictures of 32 px by hand: padded by 4 black pixels, cut, half of them flipped, ImageNet's mean and deviation."""
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    tops, lefts = torch.randint(0, 9, (2, len(images)), generator=dice)
    turned = torch.rand(len(images), generator=dice) < 0.5
    made = torch.zeros(len(images), 3, 40, 40)
    made[:, :, 4:36, 4:36] = images / 255
    cuts = [
        one[:, top : top + 32, left : left + 32] for one, top, left in zip(made, tops, lefts, strict=True)
    ]
    flipped = [cut.flip(-1) if turn else cut for cut, turn in zip(cuts, turned, strict=True)]
    return (torch.stack(flipped) - mean[:, None, None]) / std[:, None, None]
