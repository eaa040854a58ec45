"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from given_vit import ViT
from task import make_positions_trainable
from torch import nn


def make_inputs():
    torch.manual_seed(4)
    model = ViT((1, 28, 28))
    before = model.positions.clone()
    return make_positions_trainable(model), before, torch.rand(4, 1, 28, 28)


def test_initial_values():
    model, before, _ = make_inputs()
    same = model.positions.shape == before.shape and torch.allclose(model.positions.detach(), before)
    assert same, "positions are reinitialised: they must start as the sinusoidal table"


def test_positions_are_parameters():
    model, _, _ = make_inputs()
    named = dict(model.named_parameters())
    hint = "requires_grad on a buffer: an optimiser receives only parameters, use nn.Parameter"
    assert "positions" in named, (
        hint if model.positions.requires_grad else "positions must be an nn.Parameter"
    )
    assert model.positions.requires_grad, "requires_grad is False: the positions are not trained"


def test_a_step_updates_all_positions():
    model, before, images = make_inputs()
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    nn.functional.cross_entropy(model(images), torch.tensor([0, 1, 2, 3])).backward()
    optimiser.step()
    moved = (model.positions.detach() - before).abs().amax(dim=1) > 0
    assert moved.all(), f"{int((~moved).sum())} of {len(moved)} positions were not updated"
