"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from task import ViT
from torch import nn


def make_inputs(**options):
    torch.manual_seed(3)
    model = ViT((1, 28, 28), **options).eval()
    return model, torch.rand(3, 1, 28, 28)


def test_shapes():
    model, images = make_inputs()
    assert tuple(model(images).shape) == (3, 10)
    wide, _ = make_inputs(n_blocks=1, d=16, n_heads=4)
    assert tuple(wide(images).shape) == (3, 10), "d, n_heads and n_blocks must be configurable"


def test_parameters():
    model, _ = make_inputs()
    named = dict(model.named_parameters())
    assert "embed.weight" in named, "E is not a parameter: embed.weight is missing from model.parameters()"
    assert "class_token" in named, "[CLS] is not a parameter: class_token must be an nn.Parameter"
    blocks = [name for name in named if name.startswith("blocks.1.")]
    assert blocks, "the blocks are not registered: use nn.ModuleList instead of a list"


def test_logits_without_softmax():
    model, images = make_inputs()
    logits = model(images)
    normalised = bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(3), atol=1e-4)
    assert not normalised, (
        "softmax before the cross-entropy: return logits, nn.CrossEntropyLoss applies softmax"
    )


def test_logits_are_read_from_cls():
    model, images = make_inputs(n_blocks=0)
    with torch.no_grad():
        logits = model(images)
    same = torch.allclose(logits[0], logits[1], atol=1e-6)
    assert same, "logits not read from [CLS]: without blocks [CLS] is the same for all images"


def test_positions_matter():
    model, images = make_inputs()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1)
        moved = images.clone()
        moved[..., :4, :4], moved[..., 8:12, 8:12] = images[..., 8:12, 8:12], images[..., :4, :4]
        differ = not torch.allclose(model(images), model(moved), atol=1e-6)
    assert differ, "no positions: swapping two patches must change the logits"


def test_images_are_independent():
    model, images = make_inputs()
    other = torch.cat([images[:1], torch.rand(2, 1, 28, 28)])
    with torch.no_grad():
        same = torch.allclose(model(images)[0], model(other)[0], atol=1e-5)
    assert same, "one image changes the logits of another: batch and tokens are mixed up"


def test_every_patch_matters():
    model, images = make_inputs()
    images.requires_grad_()
    nn.functional.cross_entropy(model(images), torch.tensor([1, 2, 3])).backward()
    seen = images.grad.abs().reshape(3, 7, 4, 7, 4).amax(dim=(0, 2, 4)) > 0
    assert seen.all(), f"{int((~seen).sum())} of 49 patches do not affect the loss"
