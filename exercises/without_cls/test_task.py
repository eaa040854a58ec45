"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from given_heads import patchify
from task import WithoutCLS
from torch import nn


class TokenCounter(nn.Module):
    """A block that stores the number of its input tokens."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, z):
        self.seen = z.shape[1]
        return z


def make_inputs():
    torch.manual_seed(5)
    return WithoutCLS((1, 28, 28)).eval(), torch.rand(3, 1, 28, 28)


def name_mistake(model, images, output):
    z = model.embed(patchify(images, 7)) + model.positions[:49]
    mistakes = {
        "only the first patch is read: average all patches": model.head(model.norm(z[:, 0])),
        "sum instead of mean": model.head(model.norm(z).sum(dim=1)),
        "mean before LayerNorm: normalise each patch, then average": model.head(model.norm(z.mean(dim=1))),
        "no LayerNorm before the head": model.head(z.mean(dim=1)),
    }
    named = [name for name, value in mistakes.items() if torch.allclose(output, value, atol=1e-5)]
    return named[0] if named else "wrong result, unknown mistake"


def test_cls_is_removed():
    model, images = make_inputs()
    named = dict(model.named_parameters())
    assert "class_token" not in named, "[CLS] is still a parameter: remove class_token"
    model.blocks = nn.ModuleList([TokenCounter()])
    model(images)
    seen = model.blocks[0].seen
    assert seen == 49, f"[CLS] is still in the sequence: expected 49 tokens, blocks receive {seen}"


def test_positions_of_patches_only():
    model, _ = make_inputs()
    rows = len(model.positions)
    assert rows == 49, f"wrong number of positions: expected 49 rows, received {rows}"


def test_mean_readout():
    model, images = make_inputs()
    model.blocks = nn.ModuleList()
    with torch.no_grad():
        output = model(images)
        z = model.embed(patchify(images, 7)) + model.positions
        expected = model.head(model.norm(z).mean(dim=1))
        assert torch.allclose(output, expected, atol=1e-5), name_mistake(model, images, output)
