"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, check_tensor, expect
from task import ViT
from torch import nn


def make_inputs(**options):
    torch.manual_seed(3)
    model = call(ViT, (1, 28, 28), **options).eval()
    return model, torch.rand(3, 1, 28, 28)


def run(model, images):
    return check_tensor(call(model, images), (len(images), 10), "ViT", "(B, n_classes)")


def test_shapes():
    run(*make_inputs())
    run(*make_inputs(n_blocks=1, d=16, n_heads=4))


def test_parameters():
    model, _ = make_inputs()
    named = dict(model.named_parameters())
    expect("embed.weight" in named, "E is not a parameter: embed.weight is missing from model.parameters()")
    expect("class_token" in named, "[CLS] is not a parameter: class_token must be an nn.Parameter")
    blocks = any(name.startswith("blocks.1.") for name in named)
    expect(blocks, "the blocks are not registered: use nn.ModuleList instead of a list")


def test_logits_without_softmax():
    logits = run(*make_inputs())
    normalised = bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(3), atol=1e-4)
    expect(
        not normalised, "softmax before the cross-entropy: return logits, nn.CrossEntropyLoss applies softmax"
    )


def test_logits_are_read_from_cls():
    model, images = make_inputs(n_blocks=0)
    with torch.no_grad():
        logits = run(model, images)
    same = torch.allclose(logits[0], logits[1], atol=1e-6)
    expect(same, "logits not read from [CLS]: without blocks [CLS] is the same for all images")


def test_norm_before_the_head():
    model, images = make_inputs(n_blocks=0)
    with torch.no_grad():
        before = run(model, images)
        model.class_token.mul_(3.0).add_(model.positions[:1] * 2)  # LN(3 z) = LN(z)
        same = torch.allclose(before, run(model, images), atol=1e-2)
    expect(same, "no LayerNorm before the head: logits must be head(norm(z[:, 0]))")


def test_positions_matter():
    model, images = make_inputs()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1)
        moved = images.clone()
        moved[..., :4, :4], moved[..., 8:12, 8:12] = images[..., 8:12, 8:12], images[..., :4, :4]
        differ = not torch.allclose(run(model, images), run(model, moved), atol=1e-6)
    expect(differ, "no positions: swapping two patches must change the logits")


def test_images_are_independent():
    model, images = make_inputs()
    other = torch.cat([images[:1], torch.rand(2, 1, 28, 28)])
    with torch.no_grad():
        same = torch.allclose(run(model, images)[0], run(model, other)[0], atol=1e-5)
    expect(same, "one image changes the logits of another: batch and tokens are mixed up")


def test_every_patch_matters():
    model, images = make_inputs()
    images.requires_grad_()
    loss = nn.functional.cross_entropy(run(model, images), torch.tensor([1, 2, 3]))
    call(loss.backward)
    expect(images.grad is not None, "the output is cut off from the images: remove detach and torch.no_grad")
    seen = images.grad.abs().reshape(3, 7, 4, 7, 4).amax(dim=(0, 2, 4)) > 0
    expect(bool(seen.all()), f"{int((~seen).sum())} of 49 patches do not affect the loss")
