"""Run `pytest` in this folder: it says which slip was made."""

import torch
from given_vit import ViT
from task import make_positions_trainable
from torch import nn


def given():
    torch.manual_seed(4)
    model = ViT((1, 28, 28))
    before = model.positions.clone()
    return make_positions_trainable(model), before, torch.rand(4, 1, 28, 28)


def test_they_begin_as_they_were():
    model, before, _ = given()
    same = model.positions.shape == before.shape and torch.allclose(model.positions.detach(), before)
    assert same, "positions start anew: they must begin as the sinusoidal table"


def test_the_optimiser_sees_them():
    model, _, _ = given()
    named = dict(model.named_parameters())
    flag = "requires_grad on a buffer: the optimiser is given parameters alone, use nn.Parameter"
    assert "positions" in named, flag if model.positions.requires_grad else "positions are no nn.Parameter"
    assert model.positions.requires_grad, "requires_grad is off: the positions stay as they are"


def test_a_step_moves_them():
    model, before, images = given()
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    nn.functional.cross_entropy(model(images), torch.tensor([0, 1, 2, 3])).backward()
    optimiser.step()
    moved = (model.positions.detach() - before).abs().amax(dim=1) > 0
    assert moved.all(), f"{int((~moved).sum())} of {len(moved)} positions did not move"
