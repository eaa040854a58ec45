"""Exercise 9: improve the accuracy. A solution."""

import torch
from budget import Budget
from given_vit import ViT
from torch import nn


def train(budget: Budget) -> nn.Module:
    """Train a wider model with four patches, small trainable positions, and AdamW with warm-up and linear decay."""
    torch.manual_seed(0)
    model = ViT((1, 8, 8), n_patches=2, d=32, n_heads=4)
    start = model.positions.clone()
    del model.positions
    model.positions = nn.Parameter(start * 0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    steps = budget.left // 64
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * min((step + 1) / 60, (steps - step) / (steps - 60))
        images, labels = budget.batch(64)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return model
