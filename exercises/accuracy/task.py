"""Exercise 9: bring the accuracy up. What stands here is a beginning that works badly."""

import torch
from budget import Budget
from given_vit import ViT
from torch import nn


def train(budget: Budget) -> nn.Module:
    """A model of (B, 1, 8, 8), trained on `budget.batch(size)` until the budget is spent.

    It may have PARAMETERS parameters and see PICTURES pictures, and is wanted to name WANTED of the test's (budget.py).
    What may be changed: everything. What helps: a wider model, positions that learn and begin small, another patch
    size, AdamW, a learning rate that warms up and decays.
    """
    torch.manual_seed(0)
    model = ViT((1, 8, 8), n_patches=4)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.005)
    for _ in range(budget.left // 128):
        images, labels = budget.batch(128)
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()
    return model
