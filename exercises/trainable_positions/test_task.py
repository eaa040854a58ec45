"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, expect
from given_vit import ViT
from task import make_positions_trainable
from torch import nn


def make_inputs():
    torch.manual_seed(4)
    model = ViT((1, 28, 28))
    before = model.positions.clone()
    trainable = call(make_positions_trainable, model)
    expect(trainable is not None, "missing return: make_positions_trainable returns None, expected the model")
    kind = type(trainable).__name__
    expect(isinstance(trainable, ViT), f"make_positions_trainable returns a {kind}, expected the model")
    positions = getattr(trainable, "positions", None)
    is_tensor = isinstance(positions, torch.Tensor)
    expect(is_tensor, "model.positions is missing: assign the parameter to model.positions")
    return trainable, before, torch.rand(4, 1, 28, 28)


def test_initial_values():
    model, before, _ = make_inputs()
    shape = tuple(model.positions.shape)
    expect(
        shape == tuple(before.shape), f"wrong shape: positions are {shape}, expected {tuple(before.shape)}"
    )
    same = torch.allclose(model.positions.detach(), before)
    expect(same, "positions are reinitialised: they must start as the sinusoidal table")


def test_positions_are_parameters():
    model, _, _ = make_inputs()
    listed = "positions" in dict(model.named_parameters())
    if model.positions.requires_grad:
        expect(listed, "requires_grad on a buffer: an optimizer receives only parameters, use nn.Parameter")
    expect(listed, "positions is not a parameter: assign an nn.Parameter")
    expect(model.positions.requires_grad, "requires_grad is False: the positions are not trained")


def test_the_other_parameters_are_still_trained():
    model, _, _ = make_inputs()
    names = {name for name, value in model.named_parameters() if value.requires_grad}
    missing = sorted({name for name, _ in ViT((1, 28, 28)).named_parameters()} - names)
    expect(not missing, f"parameters that are no longer trained: {', '.join(missing[:3])}")


def test_a_step_updates_all_positions():
    model, before, images = make_inputs()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loss = nn.functional.cross_entropy(call(model, images), torch.tensor([0, 1, 2, 3]))
    call(loss.backward)
    optimizer.step()
    moved = (model.positions.detach() - before).abs().amax(dim=1) > 0
    expect(bool(moved.all()), f"{int((~moved).sum())} of {len(moved)} positions were not updated")
