"""timm needs torchvision, and torchvision may need its two operators declared: before any test imports either."""

from __future__ import annotations

import pytest
import torch

from vitviz.torchvision_fix import import_torchvision

import_torchvision()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
