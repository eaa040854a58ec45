"""Run `pytest` in this folder: it says which slip was made."""

import torch
from given_heads import patchify
from task import WithoutCLS
from torch import nn


class Count(nn.Module):
    """Stands in for a block, and counts the tokens that it is given."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, z):
        self.seen = z.shape[1]
        return z


def given():
    torch.manual_seed(5)
    return WithoutCLS((1, 28, 28)).eval(), torch.rand(3, 1, 28, 28)


def verdict(model, images, got):
    z = model.embed(patchify(images, 7)) + model.positions[:49]
    slips = {
        "the first patch is read: average all": model.head(model.norm(z[:, 0])),
        "a sum instead of a mean": model.head(model.norm(z).sum(dim=1)),
        "mean before LayerNorm: normalise each patch, then average": model.head(model.norm(z.mean(dim=1))),
        "no LayerNorm before the head": model.head(z.mean(dim=1)),
    }
    named = [name for name, value in slips.items() if torch.allclose(got, value, atol=1e-5)]
    return named[0] if named else "wrong, by no slip known here"


def test_nothing_is_left_of_it():
    model, images = given()
    named = dict(model.named_parameters())
    assert "class_token" not in named, "[CLS] is still there: class_token is a parameter that nothing reads"
    model.blocks = nn.ModuleList([Count()])
    model(images)
    seen = model.blocks[0].seen
    assert seen == 49, f"[CLS] is still in the sequence: blocks see {seen} tokens instead of 49"


def test_positions_are_those_of_patches():
    model, _ = given()
    rows = len(model.positions)
    assert rows == 49, f"positions of another sequence: {rows} rows for 49 patches"


def test_the_mean_is_read():
    model, images = given()
    model.blocks = nn.ModuleList()
    with torch.no_grad():
        got = model(images)
        z = model.embed(patchify(images, 7)) + model.positions
        wanted = model.head(model.norm(z).mean(dim=1))
        assert torch.allclose(got, wanted, atol=1e-5), verdict(model, images, got)
