"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, check_tensor, check_values, expect
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
    return call(WithoutCLS, (1, 28, 28)).eval(), torch.rand(3, 1, 28, 28)


def run(model, images):
    return check_tensor(call(model, images), (3, 10), "WithoutCLS", "(B, n_classes)")


def test_cls_is_removed():
    model, images = make_inputs()
    named = dict(model.named_parameters())
    expect("class_token" not in named, "[CLS] is still a parameter: remove class_token")
    model.blocks = nn.ModuleList([TokenCounter()])
    run(model, images)
    seen = model.blocks[0].seen
    expect(seen != 0, "the blocks are not used: pass the tokens through self.blocks")
    expect(seen == 49, f"[CLS] is still in the sequence: expected 49 tokens, blocks receive {seen}")


def test_positions_of_patches_only():
    model, _ = make_inputs()
    rows = len(model.positions)
    expect(rows == 49, f"wrong number of positions: expected 49 rows, received {rows}")


def test_mean_readout():
    model, images = make_inputs()
    model.blocks = nn.ModuleList()
    with torch.no_grad():
        output = run(model, images)
        patches = model.embed(patchify(images, 7))
        z = patches + model.positions[:49]
        mistakes = {
            "only the first patch is read: average all patches": model.head(model.norm(z[:, 0])),
            "sum instead of mean": model.head(model.norm(z).sum(dim=1)),
            "mean before LayerNorm: normalise each patch, then average": model.head(
                model.norm(z.mean(dim=1))
            ),
            "no LayerNorm before the head": model.head(z.mean(dim=1)),
            "no positions: add them to the patches": model.head(model.norm(patches).mean(dim=1)),
            "maximum instead of mean": model.head(model.norm(z).amax(dim=1)),
        }
        check_values(output, model.head(model.norm(z).mean(dim=1)), mistakes, "WithoutCLS")
