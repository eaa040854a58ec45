"""Run `pytest` in this folder: it trains once, and a failing test names the mistake. Needs scikit-learn."""

from functools import cache

import torch
from budget import PARAMETERS, TARGET, TEST, Budget, load_images
from explain import call, check_tensor, expect
from task import train
from torch import nn


@cache
def train_once():
    budget = Budget()
    model = call(train, budget)
    expect(model is not None, "missing return: train returns None, expected the trained model")
    expect(
        isinstance(model, nn.Module), f"train returns a {type(model).__name__}, expected the trained model"
    )
    return model.eval(), budget


def test_parameter_count():
    count = sum(value.numel() for value in train_once()[0].parameters())
    expect(count <= PARAMETERS, f"too many parameters: {count:,}, allowed {PARAMETERS:,}")


def test_all_parameters_are_trained():
    model, _ = train_once()
    frozen = [name for name, value in model.named_parameters() if not value.requires_grad]
    expect(not frozen, f"frozen parameters: {', '.join(frozen)}")


def test_accuracy():
    model, budget = train_once()
    images, labels = load_images()
    with torch.no_grad():
        logits = check_tensor(call(model, images[:TEST]), (TEST, 10), "the model", "(B, classes)")
    accuracy = float((logits.argmax(dim=1) == labels[:TEST]).float().mean())
    normalised = bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(TEST), atol=1e-3)
    hint = "softmax before the cross-entropy flattens the gradient" if normalised else "try another recipe"
    left = f"{budget.left:,} images of the budget are left"
    expect(accuracy >= TARGET, f"expected accuracy {TARGET:.0%}, received {accuracy:.1%}: {hint}; {left}")
