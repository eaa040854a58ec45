"""Exercise 9: improve the accuracy of this weak baseline."""

import torch
from budget import Budget
from given_vit import ViT
from torch import nn


def train(budget: Budget) -> nn.Module:
    """Train a model for images (B, 1, 8, 8) with `budget.batch(size)` until the budget is used up.

    Limits: PARAMETERS parameters and IMAGES images in all batches together; goal: test accuracy TARGET (budget.py). You
    may change everything. Try a wider model, small trainable positions, another patch size, AdamW, warm-up and decay.
    """
    torch.manual_seed(0)
    model = ViT((1, 8, 8), n_patches=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
    for _ in range(budget.left // 128):
        images, labels = budget.batch(128)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return model
