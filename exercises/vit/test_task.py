"""Run `pytest` in this folder: it says which slip was made."""

import torch
from task import ViT
from torch import nn


def given(**options):
    torch.manual_seed(3)
    model = ViT((1, 28, 28), **options).eval()
    return model, torch.rand(3, 1, 28, 28)


def test_the_shapes():
    model, images = given()
    assert tuple(model(images).shape) == (3, 10)
    wide, _ = given(n_blocks=1, d=16, n_heads=4)
    assert tuple(wide(images).shape) == (3, 10), "d, n_heads and n_blocks must be free to choose"


def test_what_is_learned():
    model, _ = given()
    named = dict(model.named_parameters())
    assert "embed.weight" in named, "E is outside the optimiser: no parameter embed.weight"
    assert "class_token" in named, "[CLS] is outside the optimiser: class_token must be an nn.Parameter"
    blocks = [name for name in named if name.startswith("blocks.1.")]
    assert blocks, "the blocks are outside the optimiser: a plain list hides them, use nn.ModuleList"


def test_logits_and_no_softmax():
    model, images = given()
    logits = model(images)
    shares = bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(3), atol=1e-4)
    assert not shares, "softmax before the cross-entropy: return logits, nn.CrossEntropyLoss has its own"


def test_the_answer_is_read_from_cls():
    model, images = given(n_blocks=0)
    with torch.no_grad():
        logits = model(images)
    same = torch.allclose(logits[0], logits[1], atol=1e-6)
    assert same, "not read from [CLS]: without blocks [CLS] has seen no picture, so all answers are the same"


def test_places_count():
    model, images = given()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1)
        moved = images.clone()
        moved[..., :4, :4], moved[..., 8:12, 8:12] = images[..., 8:12, 8:12], images[..., :4, :4]
        far = not torch.allclose(model(images), model(moved), atol=1e-6)
    assert far, "no positions: two patches have changed places and nothing else has"


def test_pictures_do_not_meet():
    model, images = given()
    other = torch.cat([images[:1], torch.rand(2, 1, 28, 28)])
    with torch.no_grad():
        same = torch.allclose(model(images)[0], model(other)[0], atol=1e-5)
    assert same, "one picture changes another's answer: batch and tokens are mixed up"


def test_every_patch_is_seen():
    model, images = given()
    images.requires_grad_()
    nn.functional.cross_entropy(model(images), torch.tensor([1, 2, 3])).backward()
    seen = images.grad.abs().reshape(3, 7, 4, 7, 4).amax(dim=(0, 2, 4)) > 0
    assert seen.all(), f"{int((~seen).sum())} of 49 patches do not reach the answer"
