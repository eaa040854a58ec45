"""Fine-tune published weights on CIFAR-10 as in the lecture: a new head, two learning rates, a cosine schedule."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR

from vitviz.config import ViTConfig
from vitviz.models.backbone_transfer import create_initialised_model, transferred

BACKBONE_RATE, HEAD_RATE, DECAY, BATCH, EPOCHS = 1e-5, 1e-3, 0.01, 32, 10
SIDE_PX, PADDING_PX = 224, 4
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's


def replace_head(model: nn.Module, config: ViTConfig, classes: int, seed: int = 0) -> nn.Module:
    """Return the model with a new linear head for `classes` classes."""
    target = replace(config, num_classes=classes)
    return create_initialised_model(target, seed, transferred(model.state_dict(), config, target, seed))


def parameter_groups(model: nn.Module) -> list[dict[str, Any]]:
    """Return the parameter groups: the head at 1e-3, the backbone at 1e-5."""
    named = list(model.named_parameters())
    return [
        {"params": [p for name, p in named if "head" not in name], "lr": BACKBONE_RATE},
        {"params": [p for name, p in named if "head" in name], "lr": HEAD_RATE},
    ]


def prepared(images: Tensor, generator: torch.Generator | None = None, side_px: int = SIDE_PX) -> Tensor:
    """Images (B, 3, H, W) uint8 as the model takes them; with a generator cropped after padding and flipped.

    Returns:
        (B, 3, side_px, side_px) float32, with ImageNet's mean and standard deviation.
    """
    x = F.interpolate(images.float() / 255, size=(side_px, side_px), mode="bilinear", antialias=True)
    if generator is not None:
        padded = F.pad(x, (PADDING_PX,) * 4)
        top, left = torch.randint(0, 2 * PADDING_PX + 1, (2, len(x)), generator=generator).tolist()
        x = torch.stack(
            [p[:, r : r + side_px, c : c + side_px] for p, r, c in zip(padded, top, left, strict=True)]
        )
        flipped = torch.rand(len(x), generator=generator) < 0.5
        x = torch.where(flipped[:, None, None, None], x.flip(-1), x)
    mean, std = (torch.tensor(values)[:, None, None] for values in (MEAN, STD))
    return (x - mean) / std


def fine_tune(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epochs: int = EPOCHS,
    side_px: int = SIDE_PX,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] | None = None,
) -> nn.Module:
    """Train backbone and head, each at its rate, down a cosine.

    Args:
        model: model with a new head.
        images, labels: (N, 3, H, W) uint8 and (N,) int64.
        side_px: image size of the model.
        seed: of the order, the crops and the flips.
        on_epoch: called with (epoch from 1, mean loss).
    """
    optimizer = AdamW(parameter_groups(model), weight_decay=DECAY)
    schedule = CosineAnnealingLR(optimizer, T_max=epochs)
    generator = torch.Generator().manual_seed(seed)
    model.train()
    for epoch in range(1, epochs + 1):
        losses = []
        for chosen in torch.split(torch.randperm(len(images), generator=generator), BATCH):
            loss = F.cross_entropy(model(prepared(images[chosen], generator, side_px)), labels[chosen])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        if on_epoch is not None:
            on_epoch(epoch, sum(losses) / len(losses))
    return model.eval()


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor, side_px: int = SIDE_PX) -> float:
    """Return the share of images (N, 3, H, W) uint8 whose label (N,) int64 has the largest logit."""
    right = [
        model.eval()(prepared(some, side_px=side_px)).argmax(dim=1) == wanted
        for some, wanted in zip(torch.split(images, BATCH), torch.split(labels, BATCH), strict=True)
    ]
    return torch.cat(right).double().mean().item()
