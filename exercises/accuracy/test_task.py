"""Run `pytest` in this folder: it trains once, and says which slip was made. Needs scikit-learn for its digits."""

from functools import cache

import torch
from budget import PARAMETERS, TEST, WANTED, Budget, pictures
from task import train


@cache
def trained():
    budget = Budget()
    model = train(budget)
    return model.eval(), budget


def test_the_parameters_are_within_the_budget():
    count = sum(value.numel() for value in trained()[0].parameters())
    assert count <= PARAMETERS, f"over the budget: {count:,} parameters, {PARAMETERS:,} are allowed"


def test_everything_learns():
    torch.manual_seed(0)
    model, _ = trained()
    still = [name for name, value in model.named_parameters() if not value.requires_grad]
    assert not still, f"outside the optimiser: {', '.join(still)}"


def test_the_accuracy():
    model, budget = trained()
    images, labels = pictures()
    with torch.no_grad():
        logits = model(images[:TEST])
    right = float((logits.argmax(dim=1) == labels[:TEST]).float().mean())
    shares = bool((logits >= 0).all()) and torch.allclose(logits.sum(dim=1), torch.ones(TEST), atol=1e-3)
    why = "softmax before the cross-entropy flattens the gradient" if shares else "try another recipe"
    spent = f"{budget.left:,} pictures of the budget are left"
    assert right >= WANTED, f"{right:.1%} right, {WANTED:.0%} are wanted: {why}; {spent}"
